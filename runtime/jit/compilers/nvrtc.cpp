#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>

#include "runtime/jit/compilers/containment.hpp"
#include "runtime/jit/compilers/nvrtc_log.hpp"
#include "runtime/jit/compilers/rtc.hpp"
#include "runtime/jit/compilers/table.hpp"
#include "runtime/system/dynamic_library.hpp"

namespace iris {
namespace {

/// The functions of libnvrtc that hiprtc has no twin of, as nvrtc.h declares them.
struct NvrtcFunctions {
  int (*version)(int*, int*);
  int (*supported_count)(int*);
  int (*supported)(int*);

  explicit NvrtcFunctions(const DynamicLibrary& library) {
    library.bind(version, "nvrtcVersion");
    library.bind(supported_count, "nvrtcGetNumSupportedArchs");
    library.bind(supported, "nvrtcGetSupportedArchs");
  }
};

std::vector<std::string> option_list(const irisgen::Target& target, int major) {
  std::vector<std::string> options = {"--gpu-architecture=" + std::string(target.name),
                                      "--std=c++20",
                                      "--fmad=false",
                                      "--device-as-default-execution-space",
                                      "--disable-warnings",
                                      "--ptxas-options=--verbose"};
  // No kernel has textures, or calls of CUDA's runtime, whose declarations take a while to read. 12.0 has no such
  // option.
  if (major >= 13) options.emplace_back("--minimal");
  return options;
}

/// sm_90a: the number in the middle, 90.
int architecture(std::string_view target) {
  int number = 0;
  const std::string_view digits = target.substr(target.find('_') + 1);
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

class Nvrtc : public Compiler {
 public:
  explicit Nvrtc(DynamicLibrary library)
      : library_(std::move(library)), rtc_(library_, "nvrtc", "CUBIN"), functions_(library_) {
    rtc_.check(functions_.version(&major_, &minor_), "Version");
    int count = 0;
    rtc_.check(functions_.supported_count(&count), "GetNumSupportedArchs");
    std::vector<int> supported(static_cast<std::size_t>(count));
    rtc_.check(functions_.supported(supported.data()), "GetSupportedArchs");
    for (const irisgen::Target& target : irisgen::targets()) {
      if (target.platform != irisgen::Platform::nvidia) continue;
      if (std::ranges::find(supported, architecture(target.name)) != supported.end()) {
        targets_.emplace_back(target.name);
      }
    }
  }

  std::string_view name() const override { return "nvrtc"; }

  std::string version() const override { return std::to_string(major_) + "." + std::to_string(minor_); }

  std::vector<std::string> files() const override { return {library_.path()}; }
  std::vector<std::string> targets() const override { return targets_; }

  std::string options(const irisgen::Target& target) const override { return one_line(option_list(target, major_)); }

  CodeObject compile(const CompileRequest& request) const override {
    CodeObject code;
    containment_.run(request.name, [&] { compile_into(code, request); });
    code.target = request.target->name;
    code.compiler = "nvrtc " + version();
    return code;
  }

 private:
  void compile_into(CodeObject& code, const CompileRequest& request) const {
    Rtc::Built built = rtc_.compile(request.name, request.source, option_list(*request.target, major_));
    if (!built.ok) throw CompileError(with_places(built.log, request.name));
    code.bytes = std::move(built.code);
    code.resources = resources_of(built.log, request.symbol);
  }

  DynamicLibrary library_;
  Rtc rtc_;
  NvrtcFunctions functions_;
  int major_ = 0;
  int minor_ = 0;
  std::vector<std::string> targets_;
  Containment containment_{"nvrtc"};
};

std::vector<std::string> candidates() {
  const std::vector<std::string> files = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  std::vector<std::string> folders = {""};
  if (const char* home = std::getenv("CUDA_HOME"))
    folders.insert(folders.end(), {std::string(home) + "/lib64/", std::string(home) + "/lib/"});
  folders.insert(folders.end(), {"/usr/local/cuda/lib64/", "/usr/local/cuda/lib/"});
  std::vector<std::string> paths;
  for (const std::string& folder : folders) {
    for (const std::string& file : files) paths.push_back(folder + file);
  }
  return paths;
}

}  // namespace

FoundCompiler find_nvrtc() {
  try {
    return std::make_shared<const Nvrtc>(DynamicLibrary::open_first(candidates()));
  } catch (const std::runtime_error& error) {
    return MissingCompiler{"nvrtc", error.what(),
                           "install cuda-nvrtc-13-0 from NVIDIA's repository (or the CUDA toolkit, and set CUDA_HOME)"};
  }
}

}  // namespace iris
