#include "runtime/jit/compilers/rtc.hpp"

#include <functional>
#include <memory>
#include <utility>

#include "iris/compiler.hpp"

namespace iris {

namespace {

constexpr int success = 0;

}  // namespace

Rtc::Rtc(const DynamicLibrary& library, std::string prefix, const std::string& code)
    : prefix_(std::move(prefix)), get_code_("Get" + code) {
  const auto bind = [&](auto& function, const std::string& name) { library.bind(function, (prefix_ + name).c_str()); };
  bind(error_string_, "GetErrorString");
  bind(create_, "CreateProgram");
  bind(destroy_, "DestroyProgram");
  bind(compile_, "CompileProgram");
  bind(log_size_, "GetProgramLogSize");
  bind(log_, "GetProgramLog");
  bind(code_size_, get_code_ + "Size");
  bind(code_, get_code_);
}

void Rtc::check(int status, const std::string& call) const {
  if (status != success) throw CompileError(prefix_ + call + ": " + error_string_(status));
}

Rtc::Built Rtc::compile(const std::string& name, const std::string& source, const std::vector<std::string>& options,
                        const std::vector<Header>& headers) const {
  std::vector<const char*> header_texts;
  std::vector<const char*> header_names;
  for (const Header& header : headers) {
    header_texts.push_back(header.text);
    header_names.push_back(header.name);
  }
  Program created = nullptr;
  check(create_(&created, source.c_str(), name.c_str(), static_cast<int>(headers.size()), header_texts.data(),
                header_names.data()),
        "CreateProgram");
  const std::unique_ptr<void, std::function<void(Program)>> program{created,
                                                                    [this](Program handle) { destroy_(&handle); }};
  std::vector<const char*> pointers;
  pointers.reserve(options.size());
  for (const std::string& option : options) pointers.push_back(option.c_str());
  const int status = compile_(program.get(), static_cast<int>(pointers.size()), pointers.data());
  std::string log = log_of(program.get());
  if (status == success) return {true, code_of(program.get()), std::move(log)};
  if (log.empty()) log = name + ": error: " + error_string_(status);
  return {false, {}, std::move(log)};
}

std::string Rtc::log_of(Program program) const {
  std::size_t size = 0;
  check(log_size_(program, &size), "GetProgramLogSize");
  std::string log(size, '\0');
  if (size > 0) check(log_(program, log.data()), "GetProgramLog");
  return log.substr(0, log.find('\0'));
}

std::vector<std::byte> Rtc::code_of(Program program) const {
  std::size_t size = 0;
  check(code_size_(program, &size), get_code_ + "Size");
  std::vector<std::byte> bytes(size);
  check(code_(program, reinterpret_cast<char*>(bytes.data())), get_code_);
  return bytes;
}

std::string one_line(const std::vector<std::string>& options) {
  std::string line;
  for (const std::string& option : options) line += (line.empty() ? "" : " ") + option;
  return line;
}

}  // namespace iris
