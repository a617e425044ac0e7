#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "irisgen/plan.hpp"

namespace irisgen {

/// What comes with irisgen and is embedded in it. Throws std::logic_error if it does not.
std::string_view required_resource(std::string_view path);

/// Splits off the first line, with its line end.
std::string_view take_line(std::string_view& text);

/// The path of `#include <iris/device/…>`; nothing for another line.
std::optional<std::string_view> device_include(std::string_view line);

/// The parts of device/ that some lines include, each once, in the order of their need: of the platforms only the
/// target's, and of the main loops the kernel's.
std::string inline_includes(std::string_view includes, Platform platform, std::optional<MainLoop> loop);

}  // namespace irisgen
