#include "irisgen/explain.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "generator/plan/describe.hpp"
#include "irisgen/pattern.hpp"

namespace irisgen {
namespace {

using Row = std::vector<std::string>;

/// Code points, which is what a terminal's columns are for the texts of a Plan.
std::size_t width(const std::string& text) {
  return std::ranges::count_if(text, [](unsigned char byte) { return (byte & 0xc0) != 0x80; });
}

/// Rows in columns, two spaces apart, each line indented by two.
std::string table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line.append("  ").append(row[i]).append(widths[i] - width(row[i]), ' ');
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

/// Independent of the locale.
std::string fixed(double value, int digits) {
  std::array<char, 400> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, digits);
  return {buffer.data(), end.ptr};
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array units = {"KB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  for (; value >= 999.95 && unit + 1 < units.size(); ++unit) value /= 1000;
  return fixed(value, 1) + " " + units[unit];
}

std::string microseconds(double value) {
  return fixed(value, value < 100 ? 2 : 0) + " µs";
}

/// `1.3 MB`, or `512 B + 16·m·n B` where it depends on a launch.
std::string workspace_text(const WorkspaceSize& workspace) {
  if (workspace.scale == 0) return workspace.fixed == 0 ? "none" : bytes_text(workspace.fixed);
  std::string text = workspace.fixed == 0 ? "" : bytes_text(workspace.fixed) + " + ";
  text += std::to_string(workspace.scale);
  for (const char extent : workspace.extents) {
    text += "·";
    text += extent;
  }
  return text + " B";
}

std::string link_text(const Plan& plan) {
  if (!plan.dynamic_extents.empty() && plan.prediction.link_bytes == 0) return "known only at launch";
  return bytes_text(plan.prediction.link_bytes) + " sent by the busiest rank in a launch";
}

std::vector<Row> argument_rows(const Plan& plan) {
  std::vector<Row> rows;
  for (const Argument& argument : plan.arguments) {
    std::string notes = argument.symmetric ? "on the symmetric heap, " : "any memory, ";
    notes += std::to_string(argument.alignment) + "-byte aligned";
    if (argument.root_only) notes += ", read on the root only";
    rows.push_back({argument.name, describe_shape(plan, argument), std::string(to_string(argument.dtype)),
                    argument.access == Access::read ? "read" : "written", notes});
  }
  return rows;
}

std::vector<Row> cost_rows(const Plan& plan) {
  const Prediction& prediction = plan.prediction;
  std::vector<Row> rows;
  rows.push_back({"workspace", workspace_text(plan.workspace) + ", and " + std::to_string(plan.flags) +
                                   " flags, on the symmetric heap of each rank"});
  rows.push_back({"over the links", link_text(plan)});
  if (prediction.time_us > 0) {
    rows.push_back({"predicted",
                    microseconds(prediction.time_us) + " a launch; the floor is " + microseconds(prediction.floor_us)});
  }
  if (!prediction.basis.empty()) rows.push_back({"basis", prediction.basis});
  return rows;
}

nlohmann::ordered_json argument_json(const Plan& plan, const Argument& argument) {
  return {{"name", argument.name},
          {"access", argument.access == Access::read ? "read" : "write"},
          {"dtype", to_string(argument.dtype)},
          {"shape", describe_shape(plan, argument)},
          {"symmetric", argument.symmetric},
          {"alignment", argument.alignment},
          {"root_only", argument.root_only}};
}

}  // namespace

std::string explain(const Plan& plan) {
  std::vector<Row> choices;
  choices.reserve(plan.choices.size());
  for (const Choice& choice : plan.choices) choices.push_back({choice.name, choice.value, choice.reason});
  return plan.kernel.name + ": " + describe(plan) + "\n\n" + table(choices) + "\n" + table(argument_rows(plan)) + "\n" +
         table(cost_rows(plan));
}

std::string explain_json(const Plan& plan) {
  using Json = nlohmann::ordered_json;
  Json choices = Json::array();
  for (const Choice& choice : plan.choices) {
    choices.push_back({{"name", choice.name}, {"value", choice.value}, {"reason", choice.reason}});
  }
  Json arguments = Json::array();
  for (const Argument& argument : plan.arguments) arguments.push_back(argument_json(plan, argument));
  const WorkspaceSize& workspace = plan.workspace;
  const Prediction& prediction = plan.prediction;
  const Json json = {
      {"name", plan.kernel.name},
      {"pattern", plan.kernel.pattern->name},
      {"world", plan.world},
      {"target", plan.target->name},
      {"variant", plan.variant},
      {"symbol", plan.symbol},
      {"blocks", plan.blocks},
      {"threads", plan.threads},
      {"timeout_ms", plan.timeout_ms},
      {"in_place", plan.in_place},
      {"flags", plan.flags},
      {"workspace", {{"fixed", workspace.fixed}, {"scale", workspace.scale}, {"extents", workspace.extents}}},
      {"arguments", std::move(arguments)},
      {"choices", std::move(choices)},
      {"prediction",
       {{"link_bytes", prediction.link_bytes},
        {"floor_us", prediction.floor_us},
        {"time_us", prediction.time_us},
        {"basis", prediction.basis}}},
  };
  return json.dump(2) + "\n";
}

}  // namespace irisgen
