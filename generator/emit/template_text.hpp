#pragma once

#include <string>
#include <string_view>

namespace irisgen {

/// A template in two: what it includes of device/, and what stands below the include of the sample configuration.
struct TemplateText {
  std::string includes;
  std::string_view body;
};

/// Of templates/PATH.
TemplateText split_template(const std::string& path);

/// `<symbol>_host`: how the CPU's engine calls an entry.
std::string host_entry(const std::string& symbol);

}  // namespace irisgen
