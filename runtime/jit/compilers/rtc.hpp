#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/system/dynamic_library.hpp"

namespace iris {

/// A library that compiles at run time: hiprtc and NVRTC offer the same functions under two prefixes, as hip/hiprtc.h
/// and nvrtc.h declare them.
class Rtc {
 public:
  /// `prefix` begins each function's name ("nvrtc"); `code` is what Get… and Get…Size call the result ("CUBIN"). The
  /// library outlives this.
  Rtc(const DynamicLibrary& library, std::string prefix, const std::string& code);

  struct Built {
    bool ok;
    std::vector<std::byte> code;  ///< empty unless ok
    std::string log;              ///< never empty if not ok
  };
  /// A file that the source can include.
  struct Header {
    const char* name;
    const char* text;  ///< not empty
  };
  /// Throws CompileError if the library fails in another way than by refusing the source.
  Built compile(const std::string& name, const std::string& source, const std::vector<std::string>& options,
                const std::vector<Header>& headers = {}) const;

  /// Throws CompileError, naming the call, unless `status` is success.
  void check(int status, const std::string& call) const;

 private:
  using Program = void*;

  std::string log_of(Program program) const;
  std::vector<std::byte> code_of(Program program) const;

  std::string prefix_;
  std::string get_code_;  ///< GetCUBIN
  const char* (*error_string_)(int);
  int (*create_)(Program*, const char*, const char*, int, const char**, const char**);
  int (*destroy_)(Program*);
  int (*compile_)(Program, int, const char**);
  int (*log_size_)(Program, std::size_t*);
  int (*log_)(Program, char*);
  int (*code_size_)(Program, std::size_t*);
  int (*code_)(Program, char*);
};

/// The options with a blank between any two.
std::string one_line(const std::vector<std::string>& options);

}  // namespace iris
