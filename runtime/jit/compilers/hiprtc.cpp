#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "runtime/jit/compilers/comgr.hpp"
#include "runtime/jit/compilers/containment.hpp"
#include "runtime/jit/compilers/rtc.hpp"
#include "runtime/jit/compilers/table.hpp"
#include "runtime/system/dynamic_library.hpp"

namespace iris {
namespace {

std::vector<std::string> option_list(const irisgen::Target& target) {
  return {"--offload-arch=" + std::string(target.name), "-std=c++20", "-O3", "-ffp-contract=off", "-w"};
}

/// What hiprtc has every source include first: the whole of HIP, which takes longer to read than most kernels to
/// compile. Ours need none of it (device/'s keywords.hpp has the keywords), so an empty file takes its place.
constexpr Rtc::Header no_runtime = {.name = "hiprtc_runtime.h", .text = " "};

/// comgr works on files in a temporary folder, found as LLVM does. Empty if it can; it gives no reason if it cannot.
std::string complaint_of_temporary_folder() {
  std::string folder = "/tmp";
  for (const char* variable : {"TEMPDIR", "TEMP", "TMP", "TMPDIR"}) {  // the last one that is set wins
    if (const char* value = std::getenv(variable)) folder = value;
  }
  std::string probe = folder + "/irisgen-XXXXXX";
  if (::mkdtemp(probe.data()) != nullptr) {
    ::rmdir(probe.c_str());
    return {};
  }
  return "hiprtc keeps files in the temporary folder " + folder +
         ", where nothing can be written: " + std::strerror(errno) + "; set TMPDIR to a folder that can be written";
}

class Hiprtc : public Compiler {
 public:
  Hiprtc(DynamicLibrary library, Comgr comgr)
      : library_(std::move(library)), rtc_(library_, "hiprtc", "Code"), comgr_(std::move(comgr)) {
    // hiprtc aborts the process when it is asked for a target that comgr does not list.
    const auto listed = comgr_.targets();
    for (const irisgen::Target& target : irisgen::targets()) {
      if (std::ranges::find(listed, target.name) != listed.end()) targets_.emplace_back(target.name);
    }
    // Where the name is the same: later releases have not been tried.
    if (library_.version().starts_with("5.")) headers_.push_back(no_runtime);
  }

  std::string_view name() const override { return "hiprtc"; }

  // hiprtcVersion says 9.0 whatever the release; the files' names tell.
  std::string version() const override { return library_.version() + " (comgr " + comgr_.version() + ")"; }

  std::vector<std::string> files() const override { return {library_.path(), comgr_.path()}; }
  std::vector<std::string> targets() const override { return targets_; }

  std::string options(const irisgen::Target& target) const override {
    std::string line = one_line(option_list(target));
    for (const Rtc::Header& header : headers_) line.append(" no ").append(header.name);
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
  std::vector<std::byte> compile_to_bytes(const CompileRequest& request) const {
    // hiprtc 5 gives the source a name of its own in messages.
    const std::string source = "#line 1 \"" + request.name + "\"\n" + request.source;
    Rtc::Built built = rtc_.compile(request.name, source, option_list(*request.target), headers_);
    if (!built.ok) {
      const std::string complaint = complaint_of_temporary_folder();
      throw CompileError(complaint.empty() ? built.log : request.name + ": error: " + complaint);
    }
    return std::move(built.code);
  }

  DynamicLibrary library_;
  Rtc rtc_;
  Comgr comgr_;
  std::vector<std::string> targets_;
  std::vector<Rtc::Header> headers_;
  Containment containment_{"hiprtc"};
  mutable std::mutex mutex_;  // hiprtc's own state is global
};

DynamicLibrary open_hiprtc() {
  // ROCm 6 and later have a library of its own; before, hiprtc is part of the HIP runtime.
  const std::vector<std::string> names = {
      "libhiprtc.so.7",   "libhiprtc.so.6",   "libhiprtc.so",     "/opt/rocm/lib/libhiprtc.so",
      "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "/opt/rocm/lib/libamdhip64.so"};
  return DynamicLibrary::open_first(names);
}

}  // namespace

FoundCompiler find_hiprtc() {
  try {
    return std::make_shared<const Hiprtc>(open_hiprtc(), Comgr());
  } catch (const std::runtime_error& error) {
    return MissingCompiler{"hiprtc", error.what(),
                           "install hiprtc and comgr from AMD's ROCm repository, or Debian's libamdhip64-5 and "
                           "libhiprtc-builtins5; clang does AMD targets without them"};
  }
}

}  // namespace iris
