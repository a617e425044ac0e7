#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <memory>

#include "runtime/compilers/containment.hpp"
#include "runtime/compilers/nvrtc_log.hpp"
#include "runtime/compilers/table.hpp"
#include "runtime/dynamic_library.hpp"

namespace iris {
namespace {

constexpr int nvrtc_success = 0;
using Program = void*;

/// The functions of libnvrtc that we use, as nvrtc.h declares them.
struct NvrtcFunctions {
  const char* (*error_string)(int);
  int (*version)(int*, int*);
  int (*supported_count)(int*);
  int (*supported)(int*);
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*destroy)(Program*);
  int (*compile)(Program, int, const char* const*);
  int (*log_size)(Program, std::size_t*);
  int (*log)(Program, char*);
  int (*cubin_size)(Program, std::size_t*);
  int (*cubin)(Program, char*);

  explicit NvrtcFunctions(const DynamicLibrary& library) {
    library.bind(error_string, "nvrtcGetErrorString");
    library.bind(version, "nvrtcVersion");
    library.bind(supported_count, "nvrtcGetNumSupportedArchs");
    library.bind(supported, "nvrtcGetSupportedArchs");
    library.bind(create, "nvrtcCreateProgram");
    library.bind(destroy, "nvrtcDestroyProgram");
    library.bind(compile, "nvrtcCompileProgram");
    library.bind(log_size, "nvrtcGetProgramLogSize");
    library.bind(log, "nvrtcGetProgramLog");
    library.bind(cubin_size, "nvrtcGetCUBINSize");
    library.bind(cubin, "nvrtcGetCUBIN");
  }
};

std::vector<std::string> option_list(const irisgen::Target& target) {
  return {"--gpu-architecture=" + std::string(target.name),
          "--std=c++20",
          "--fmad=false",
          "--device-as-default-execution-space",
          "--disable-warnings",
          "--ptxas-options=--verbose"};
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
  explicit Nvrtc(DynamicLibrary library) : library_(std::move(library)), functions_(library_) {
    int count = 0;
    check(functions_.supported_count(&count), "nvrtcGetNumSupportedArchs");
    std::vector<int> supported(static_cast<std::size_t>(count));
    check(functions_.supported(supported.data()), "nvrtcGetSupportedArchs");
    for (const irisgen::Target& target : irisgen::targets()) {
      if (target.platform != irisgen::Platform::nvidia) continue;
      if (std::ranges::find(supported, architecture(target.name)) != supported.end()) {
        targets_.emplace_back(target.name);
      }
    }
  }

  std::string_view name() const override { return "nvrtc"; }

  std::string version() const override {
    int major = 0;
    int minor = 0;
    check(functions_.version(&major, &minor), "nvrtcVersion");
    return std::to_string(major) + "." + std::to_string(minor);
  }

  std::vector<std::string> files() const override { return {library_.path()}; }
  std::vector<std::string> targets() const override { return targets_; }

  std::string options(const irisgen::Target& target) const override {
    std::string line;
    for (const std::string& option : option_list(target)) line += (line.empty() ? "" : " ") + option;
    return line;
  }

  CodeObject compile(const CompileRequest& request) const override {
    CodeObject code;
    containment_.run(request.name, [&] { compile_into(code, request); });
    code.target = request.target->name;
    code.compiler = "nvrtc " + version();
    return code;
  }

 private:
  void check(int status, const char* call) const {
    if (status != nvrtc_success) throw CompileError(std::string(call) + ": " + functions_.error_string(status));
  }

  void compile_into(CodeObject& code, const CompileRequest& request) const {
    const auto program = create(request);
    const std::vector<std::string> options = option_list(*request.target);
    std::vector<const char*> pointers;
    pointers.reserve(options.size());
    for (const std::string& option : options) pointers.push_back(option.c_str());
    const int status = functions_.compile(program.get(), static_cast<int>(pointers.size()), pointers.data());
    const std::string log = log_of(program.get());
    if (status != nvrtc_success) {
      const std::string text = log.empty() ? request.name + ": error: " + functions_.error_string(status) : log;
      throw CompileError(with_places(text, request.name));
    }
    code.bytes = cubin_of(program.get());
    code.resources = resources_of(log, request.symbol);
  }

  using ProgramHandle = std::unique_ptr<void, std::function<void(Program)>>;
  ProgramHandle create(const CompileRequest& request) const {
    Program program = nullptr;
    check(functions_.create(&program, request.source.c_str(), request.name.c_str(), 0, nullptr, nullptr),
          "nvrtcCreateProgram");
    return {program, [this](Program handle) { functions_.destroy(&handle); }};
  }

  std::string log_of(Program program) const {
    std::size_t size = 0;
    check(functions_.log_size(program, &size), "nvrtcGetProgramLogSize");
    std::string log(size, '\0');
    if (size > 0) check(functions_.log(program, log.data()), "nvrtcGetProgramLog");
    return log.substr(0, log.find('\0'));
  }

  std::vector<std::byte> cubin_of(Program program) const {
    std::size_t size = 0;
    check(functions_.cubin_size(program, &size), "nvrtcGetCUBINSize");
    std::vector<std::byte> bytes(size);
    check(functions_.cubin(program, reinterpret_cast<char*>(bytes.data())), "nvrtcGetCUBIN");
    return bytes;
  }

  DynamicLibrary library_;
  NvrtcFunctions functions_;
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
