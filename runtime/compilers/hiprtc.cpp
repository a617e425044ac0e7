#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>

#include "runtime/compilers/comgr.hpp"
#include "runtime/compilers/containment.hpp"
#include "runtime/compilers/table.hpp"
#include "runtime/dynamic_library.hpp"

namespace iris {
namespace {

constexpr int hiprtc_success = 0;
using Program = void*;

/// The functions of hiprtc that we use, as hip/hiprtc.h declares them since HIP 4.2.
struct HiprtcFunctions {
  const char* (*error_string)(int);
  int (*create)(Program*, const char*, const char*, int, const char**, const char**);
  int (*destroy)(Program*);
  int (*compile)(Program, int, const char**);
  int (*log_size)(Program, std::size_t*);
  int (*log)(Program, char*);
  int (*code_size)(Program, std::size_t*);
  int (*code)(Program, char*);

  explicit HiprtcFunctions(const DynamicLibrary& library) {
    library.bind(error_string, "hiprtcGetErrorString");
    library.bind(create, "hiprtcCreateProgram");
    library.bind(destroy, "hiprtcDestroyProgram");
    library.bind(compile, "hiprtcCompileProgram");
    library.bind(log_size, "hiprtcGetProgramLogSize");
    library.bind(log, "hiprtcGetProgramLog");
    library.bind(code_size, "hiprtcGetCodeSize");
    library.bind(code, "hiprtcGetCode");
  }
};

std::vector<std::string> option_list(const irisgen::Target& target) {
  return {"--offload-arch=" + std::string(target.name), "-std=c++20", "-O3", "-ffp-contract=off", "-w"};
}

class Hiprtc : public Compiler {
 public:
  Hiprtc(DynamicLibrary library, Comgr comgr)
      : library_(std::move(library)), functions_(library_), comgr_(std::move(comgr)) {
    // hiprtc aborts the process when it is asked for a target that comgr does not list.
    const auto listed = comgr_.targets();
    for (const irisgen::Target& target : irisgen::targets()) {
      if (std::ranges::find(listed, target.name) != listed.end()) targets_.emplace_back(target.name);
    }
  }

  std::string_view name() const override { return "hiprtc"; }

  // hiprtcVersion says 9.0 whatever the release; the files' names tell.
  std::string version() const override { return library_.version() + " (comgr " + comgr_.version() + ")"; }

  std::vector<std::string> files() const override { return {library_.path(), comgr_.path()}; }
  std::vector<std::string> targets() const override { return targets_; }

  std::string options(const irisgen::Target& target) const override {
    std::string line;
    for (const std::string& option : option_list(target)) line += (line.empty() ? "" : " ") + option;
    return line;
  }

  CodeObject compile(const CompileRequest& request) const override {
    if (std::ranges::find(targets_, request.target->name) == targets_.end()) {
      throw CompileError(request.name + ": error: hiprtc " + version() + " has no target '" +
                         std::string(request.target->name) + "'");
    }
    const std::lock_guard lock(mutex_);
    CodeObject code;
    containment_.run(request.name, [&] { code.bytes = compile_to_bytes(request); });
    code.target = request.target->name;
    code.compiler = "hiprtc " + version();
    code.resources = comgr_.resources(code.bytes, request.symbol);
    return code;
  }

 private:
  void check(int status, const char* call) const {
    if (status != hiprtc_success) throw CompileError(std::string(call) + ": " + functions_.error_string(status));
  }

  std::vector<std::byte> compile_to_bytes(const CompileRequest& request) const {
    const auto program = create(request);
    const std::vector<std::string> options = option_list(*request.target);
    std::vector<const char*> pointers;
    pointers.reserve(options.size());
    for (const std::string& option : options) pointers.push_back(option.c_str());
    const int status = functions_.compile(program.get(), static_cast<int>(pointers.size()), pointers.data());
    if (status == hiprtc_success) return code_of(program.get());
    const std::string log = log_of(program.get());
    throw CompileError(log.empty() ? request.name + ": error: " + functions_.error_string(status) : log);
  }

  using ProgramHandle = std::unique_ptr<void, std::function<void(Program)>>;
  ProgramHandle create(const CompileRequest& request) const {
    Program program = nullptr;
    // hiprtc 5 gives the source a name of its own in messages.
    const std::string source = "#line 1 \"" + request.name + "\"\n" + request.source;
    check(functions_.create(&program, source.c_str(), request.name.c_str(), 0, nullptr, nullptr),
          "hiprtcCreateProgram");
    return {program, [this](Program handle) { functions_.destroy(&handle); }};
  }

  std::string log_of(Program program) const {
    std::size_t size = 0;
    check(functions_.log_size(program, &size), "hiprtcGetProgramLogSize");
    std::string log(size, '\0');
    if (size > 0) check(functions_.log(program, log.data()), "hiprtcGetProgramLog");
    return log.substr(0, log.find('\0'));
  }

  std::vector<std::byte> code_of(Program program) const {
    std::size_t size = 0;
    check(functions_.code_size(program, &size), "hiprtcGetCodeSize");
    std::vector<std::byte> bytes(size);
    check(functions_.code(program, reinterpret_cast<char*>(bytes.data())), "hiprtcGetCode");
    return bytes;
  }

  DynamicLibrary library_;
  HiprtcFunctions functions_;
  Comgr comgr_;
  std::vector<std::string> targets_;
  Containment containment_{"hiprtc"};
  mutable std::mutex mutex_;  // hiprtc's own state is global
};

DynamicLibrary open_library() {
  // ROCm 6 and later have a library of its own; before, hiprtc is part of the HIP runtime.
  const std::vector<std::string> names = {
      "libhiprtc.so.7",   "libhiprtc.so.6",   "libhiprtc.so",     "/opt/rocm/lib/libhiprtc.so",
      "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "/opt/rocm/lib/libamdhip64.so"};
  return DynamicLibrary::open_first(names);
}

}  // namespace

FoundCompiler find_hiprtc() {
  try {
    return std::make_shared<const Hiprtc>(open_library(), Comgr());
  } catch (const std::runtime_error& error) {
    return MissingCompiler{"hiprtc", error.what(),
                           "install hiprtc and comgr from AMD's ROCm repository, or Debian's libamdhip64-5 and "
                           "libhiprtc-builtins5; clang does AMD targets without them"};
  }
}

}  // namespace iris
