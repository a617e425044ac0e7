#include "generator/emit/inliner.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "generator/language/resources.hpp"
#include "generator/manifest/hash.hpp"

namespace irisgen {

std::string_view required_resource(std::string_view path) {
  const auto text = resource(path);
  if (!text) throw std::logic_error("no file " + std::string(path) + " among the embedded resources");
  return *text;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end);
  return line;
}

std::optional<std::string_view> device_include(std::string_view line) {
  constexpr std::string_view start = "#include <";
  if (!line.starts_with("#include <iris/device/")) return std::nullopt;
  const std::string_view path = line.substr(start.size());
  return path.substr(0, path.find('>'));
}

namespace {

/// Where a header stands in a file that may be included beside others like it, each part of device/ counts once.
std::string guard_of(std::string_view path) {
  std::string name;
  for (const char c : path) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    name += !letter ? '_' : c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return name;
}

/// The parts of device/ that some includes bring, each once, in the order of their need. Of the platforms only the
/// target's.
class Inliner {
 public:
  Inliner(Platform platform, std::optional<MainLoop> loop) : platform_(platform), loop_(loop) {}

  void add(std::string_view text) {
    while (!text.empty()) {
      if (const auto path = device_include(take_line(text))) add_file(resolve(*path));
    }
  }

  std::string take() { return std::move(result_); }

 private:
  /// What chooses by the compiler's macros: the emitted source has chosen already.
  std::string resolve(std::string_view path) const {
    for (const std::string folder :
         {"iris/device/platform", "iris/device/platform/math", "iris/device/platform/approximate"}) {
      if (path == folder + ".hpp") return folder + "/" + std::string(to_string(platform_)) + ".hpp";
    }
    if (path == "iris/device/main_loop/any.hpp") return std::string(header_of(loop_.value()));
    return std::string(path);
  }

  static std::string_view header_of(MainLoop loop) {
    switch (loop) {
      case MainLoop::fma:
        return "iris/device/main_loop/fma.hpp";
      case MainLoop::fma_staged:
        return "iris/device/main_loop/fma_staged.hpp";
      case MainLoop::mfma:
        return "iris/device/main_loop/mfma.hpp";
      case MainLoop::mma:
        return "iris/device/main_loop/mma.hpp";
      case MainLoop::mma_packed:
        return "iris/device/main_loop/mma_packed.hpp";
      case MainLoop::wgmma:
        return "iris/device/main_loop/wgmma.hpp";
    }
    return "";
  }

  void add_file(const std::string& path) {
    if (!added_.insert(path).second) return;
    const std::string_view text = required_resource(path);
    add(text);
    const std::string guard = guard_of(path);
    // Another version of this header in the same translation unit would be another type of the same name.
    const std::string version = "0x" + iris::sha256_hex(text).substr(0, 8);
    result_ += "// --- " + path + "\n\n#ifndef " + guard + "\n#define " + guard + " " + version + "\n";
    add_lines(text);
    result_ += "#elif " + guard + " != " + version + "\n#error \"" + path +
               " of another version of irisgen is in this translation unit\"\n#endif\n\n";
  }

  void add_lines(std::string_view text) {
    bool blank = false;
    while (!text.empty()) {
      const std::string_view line = take_line(text);
      if (device_include(line) || line.starts_with("#pragma once")) continue;
      if (line == "\n" && blank) continue;
      blank = line == "\n";
      result_ += line;
    }
  }

  Platform platform_;
  std::optional<MainLoop> loop_;
  std::set<std::string> added_;
  std::string result_;
};

}  // namespace

std::string inline_includes(std::string_view includes, Platform platform, std::optional<MainLoop> loop) {
  Inliner inliner(platform, loop);
  inliner.add(includes);
  return inliner.take();
}

}  // namespace irisgen
