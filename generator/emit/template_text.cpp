#include "generator/emit/template_text.hpp"

#include <algorithm>
#include <stdexcept>

#include "generator/emit/inliner.hpp"

namespace irisgen {

TemplateText split_template(const std::string& path) {
  std::string_view text = required_resource("templates/" + path);
  TemplateText parts;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line == "#include \"../sample_config.hpp\"\n") {
      parts.body = text.substr(std::min(text.find_first_not_of('\n'), text.size()));
      return parts;
    }
    if (device_include(line)) parts.includes += line;
  }
  throw std::logic_error("templates/" + path + " does not include ../sample_config.hpp");
}

std::string host_entry(const std::string& symbol) {
  return "\n// What the CPU's engine calls: one pointer to each argument.\nextern \"C\" void " + symbol +
         "_host(void* const* arguments) {\n  call_entry(" + symbol + ", arguments);\n}\n";
}

}  // namespace irisgen
