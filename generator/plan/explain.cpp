#include "irisgen/explain.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "generator/language/join.hpp"
#include "generator/manifest/manifest_json.hpp"
#include "generator/plan/describe.hpp"

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

std::string time_text(double value) {
  return fixed(value, value < 100 ? 2 : 0) + " µs";
}

/// `1.3 MB`, or `512 B + 16·m·n B` where it depends on a launch.
std::string workspace_text(const iris::ByteSize& workspace) {
  std::string text;
  for (const iris::ByteSize::Term& term : workspace.terms) {
    if (term.bytes == 0) continue;
    if (!text.empty()) text += " + ";
    if (term.extents.empty()) {
      text += bytes_text(term.bytes);
      continue;
    }
    text += std::to_string(term.bytes);
    for (const std::string& extent : term.extents) text += "·" + extent;
    text += " B";
  }
  return text.empty() ? "no workspace" : "workspace of " + text;
}

std::string link_text(const Plan& plan) {
  if (plan.problem.pattern == user_pattern) return "known to the source alone";
  if (!plan.problem.is_static()) return "known only at launch";
  return bytes_text(plan.prediction.link_bytes) + " sent by the busiest rank in a launch";
}

std::vector<Row> choice_rows(const Plan& plan) {
  std::vector<Row> rows;
  rows.reserve(plan.choices.size() + plan.alternatives.size());
  for (const Choice& choice : plan.choices) rows.push_back({choice.name, choice.value, choice.reason});
  if (!plan.deterministic) {
    rows.push_back({"", "", "reduces in the order of arrival: launches, and ranks, may differ in the last bits"});
  }
  for (const Alternative& other : plan.alternatives) {
    if (other.variant != plan.variant && !other.refusal.empty()) rows.push_back({"", "", "not: " + other.refusal});
  }
  return rows;
}

std::vector<Row> constant_rows(const KernelPlan& kernel) {
  std::vector<Row> rows;
  for (const Constant& constant : kernel.constants) {
    if (!constant.reason.empty()) rows.push_back({constant.name, constant.text(), constant.reason});
  }
  return rows;
}

std::vector<Row> argument_rows(const Plan& plan) {
  std::vector<Row> rows;
  for (const iris::Argument& argument : plan.arguments) {
    std::string notes = argument.symmetric ? "on the symmetric heap, " : "any memory, ";
    notes += std::to_string(argument.alignment) + "-byte aligned";
    if (argument.root_only) notes += ", read on the root only";
    if (argument.replicated) notes += ", the same on all ranks";
    rows.push_back({argument.name, describe_shape(plan.problem, argument.shape), std::string(to_string(argument.dtype)),
                    std::string(describe(argument.access)), notes});
  }
  for (const iris::Scalar& scalar : plan.scalars) {
    const auto value = plan.values.find(scalar.name);
    rows.push_back({scalar.name, "a number", std::string(to_string(scalar.type)), "by value",
                    value == plan.values.end()
                        ? "of each launch"
                        : "of each launch; " + to_string(value->second) + " in run, bench, tune"});
  }
  for (const iris::Intermediate& buffer : plan.intermediates) {
    rows.push_back({buffer.name, describe_shape(plan.problem, buffer.shape), std::string(to_string(buffer.dtype)),
                    "between",
                    std::string(buffer.symmetric ? "on the symmetric heap" : "in the device's memory") +
                        ", kept from launch to launch"});
  }
  return rows;
}

std::string name_of(const KernelPlan& kernel) {
  return kernel.part.empty() ? "the kernel" : kernel.part;
}

/// Nothing where it is the whole.
std::string portion_text(const iris::Portion& portion) {
  if (portion.count == 1) return "";
  return "part " + std::to_string(portion.number + 1) + " of " + std::to_string(portion.count) + " of ";
}

std::string owner_text(int peer_offset) {
  return peer_offset == 0 ? "this rank's " : "rank + " + std::to_string(peer_offset) + "'s ";
}

std::string words_of(const Plan& plan, const iris::Step& step) {
  std::string text = step.stream == 0 ? "" : "stream " + std::to_string(step.stream) + ": ";
  if (const auto* launch = std::get_if<iris::LaunchStep>(&step.action)) {
    const KernelPlan& kernel = plan.kernels[static_cast<std::size_t>(launch->kernel)];
    text += "launch " + name_of(kernel) + "(" + join(launch->buffers) + ")";
    if (kernel.launch_number.empty()) return text;
    return text + ", " + kernel.launch_number + " " + std::to_string(launch->extents.back().offset);
  }
  if (const auto* copy = std::get_if<iris::CopyStep>(&step.action)) {
    return text + "copy " + portion_text(copy->portion) + copy->from + " to " + owner_text(copy->peer_offset) +
           copy->to;
  }
  if (const auto* signal = std::get_if<iris::SignalStep>(&step.action)) {
    return text + "signal " + owner_text(signal->peer_offset) +
           name_of(plan.kernels[static_cast<std::size_t>(signal->to.kernel)]);
  }
  return text + "wait for stream " + std::to_string(std::get<iris::WaitStep>(step.action).stream);
}

std::string multiples_text(const iris::Schedule& schedule) {
  std::string words;
  for (const iris::Bound& bound : schedule.bounds) {
    if (bound.multiple_of == 1) continue;
    words.append(words.empty() ? " where " : " and ").append(bound.extent);
    words += " is a multiple of " + std::to_string(bound.multiple_of);
  }
  return words;
}

std::string sizes_text(const iris::Schedule& schedule) {
  std::string words;
  for (const iris::Bound& bound : schedule.bounds) {
    if (bound.up_to != iris::every_size) words += " up to " + bound.extent + " = " + std::to_string(bound.up_to);
  }
  if (schedule.up_to != iris::every_size) words += " up to " + std::to_string(schedule.up_to) + " elements";
  return words;
}

/// Which launches a schedule takes of those that none before it does.
std::string taken_by(const Plan& plan, const iris::Schedule& schedule) {
  const std::string multiples = multiples_text(schedule);
  const std::string sizes = sizes_text(schedule);
  if (!sizes.empty()) return multiples + sizes;
  const auto is_of_the_same = [&](const iris::Schedule& other) { return multiples_text(other) == multiples; };
  if (std::ranges::count_if(plan.schedules, is_of_the_same) > 1) return multiples + " of any larger size";
  return multiples.empty() ? " of all others" : multiples;
}

/// Nothing for the common case, one kernel and one launch.
std::string steps_text(const Plan& plan) {
  if (plan.schedules.size() == 1 && plan.schedules[0].steps.size() == 1) return "";
  std::string text;
  for (const iris::Schedule& schedule : plan.schedules) {
    text += "\n  steps" + (plan.schedules.size() > 1 ? taken_by(plan, schedule) : "") + "\n";
    for (const iris::Step& step : schedule.steps) text += "    " + words_of(plan, step) + "\n";
  }
  return text;
}

std::string kernels_text(const Plan& plan) {
  std::string text;
  for (const KernelPlan& kernel : plan.kernels) {
    if (!kernel.part.empty()) text += "\n  " + kernel.part + ": " + describe(plan, kernel) + "\n";
    text += table(constant_rows(kernel));
  }
  return text;
}

std::vector<Row> cost_rows(const Plan& plan) {
  const Prediction& prediction = plan.prediction;
  std::vector<Row> rows;
  rows.reserve(plan.kernels.size() + 4);
  for (const KernelPlan& kernel : plan.kernels) {
    rows.push_back({kernel.part.empty() ? "on the heap" : kernel.part + " on the heap",
                    workspace_text(kernel.workspace) + " and " + std::to_string(kernel.flags) + " flags on each rank"});
  }
  rows.push_back({"in place", std::string(describe(plan.in_place))});
  rows.push_back({"over the links", link_text(plan)});
  if (prediction.time_us > 0) {
    rows.push_back(
        {"predicted", time_text(prediction.time_us) + " a launch; the floor is " + time_text(prediction.floor_us)});
  }
  if (!prediction.basis.empty()) rows.push_back({"basis", prediction.basis});
  return rows;
}

/// Of each variant the prediction beside its measurement, where a tuning table has one.
std::string measured_text(const Plan& plan) {
  if (plan.measured_at.empty()) return "";
  std::vector<Row> rows = {{"variant", "predicted", "measured at " + plan.measured_at}};
  for (const Alternative& each : plan.alternatives) {
    if (each.measured_us == 0) continue;
    rows.push_back({each.variant, each.time_us > 0 ? time_text(each.time_us) : "-", time_text(each.measured_us)});
  }
  return "\n" + table(rows);
}

nlohmann::ordered_json json_of(const KernelPlan& kernel) {
  using Json = nlohmann::ordered_json;
  Json constants = Json::array();
  for (const Constant& constant : kernel.constants) {
    const auto* number = std::get_if<std::int64_t>(&constant.value);
    constants.push_back({{"name", constant.name},
                         {"value", number ? Json(*number) : Json(constant.text())},
                         {"unit", constant.unit},
                         {"reason", constant.reason}});
  }
  Json workspace = Json::array();
  for (const auto& term : kernel.workspace.terms)
    workspace.push_back({{"bytes", term.bytes}, {"extents", term.extents}});
  return {{"part", kernel.part},     {"variant", kernel.variant},
          {"symbol", kernel.symbol}, {"constants", std::move(constants)},
          {"flags", kernel.flags},   {"workspace", std::move(workspace)}};
}

nlohmann::ordered_json json_of(const Plan& plan, const iris::Argument& argument) {
  return {{"name", argument.name},
          {"access", iris::access_names.at(static_cast<std::size_t>(argument.access))},
          {"dtype", to_string(argument.dtype)},
          {"shape", describe_shape(plan.problem, argument.shape)},
          {"symmetric", argument.symmetric},
          {"alignment", argument.alignment},
          {"root_only", argument.root_only},
          {"replicated", argument.replicated}};
}

/// The rows of one plan in a side-by-side table, as (name, value).
std::vector<std::pair<std::string, std::string>> side_rows(const Plan& plan) {
  std::vector<std::pair<std::string, std::string>> rows = {{"variant", plan.variant}};
  for (const KernelPlan& kernel : plan.kernels) {
    const std::string prefix = kernel.part.empty() ? "" : kernel.part + " ";
    for (const Constant& constant : kernel.constants) {
      if (std::holds_alternative<std::int64_t>(constant.value) && constant.name != "world") {
        rows.emplace_back(prefix + constant.name, constant.text());
      }
    }
    rows.emplace_back(prefix + "flags", std::to_string(kernel.flags));
  }
  for (const Alternative& other : plan.alternatives) {
    if (other.time_us > 0) rows.emplace_back("predicted, " + other.variant, time_text(other.time_us));
  }
  if (plan.prediction.time_us > 0) rows.emplace_back("floor", time_text(plan.prediction.floor_us));
  if (plan.problem.is_static()) rows.emplace_back("over the links", bytes_text(plan.prediction.link_bytes));
  return rows;
}

}  // namespace

std::string explain(const Plan& plan) {
  return plan.name + ": " + describe(plan) + "\n\n" + table(choice_rows(plan)) + kernels_text(plan) + steps_text(plan) +
         "\n" + table(argument_rows(plan)) + "\n" + table(cost_rows(plan)) + measured_text(plan);
}

std::string explain_side_by_side(std::span<const Plan> plans) {
  std::vector<Row> rows = {{""}};
  for (const Plan& plan : plans) rows[0].emplace_back(plan.target->name);
  for (std::size_t column = 0; column < plans.size(); ++column) {
    auto below = rows.begin();  // a row of another plan's goes below the one before it
    for (const auto& [name, value] : side_rows(plans[column])) {
      auto row = std::ranges::find(rows, name, [](const Row& other) { return other[0]; });
      if (row == rows.end()) row = rows.insert(std::next(below), Row{name});
      row->resize(column + 1, "-");
      row->push_back(value);
      below = row;
    }
  }
  for (Row& row : rows) row.resize(plans.size() + 1, "-");
  return plans.front().name + ": " + describe(plans.front().problem) + "\n\n" + table(rows);
}

std::string explain_json(const Plan& plan) {
  using Json = nlohmann::ordered_json;
  Json choices = Json::array();
  for (const Choice& choice : plan.choices) {
    choices.push_back({{"name", choice.name}, {"value", choice.value}, {"reason", choice.reason}});
  }
  Json alternatives = Json::array();
  for (const Alternative& other : plan.alternatives) {
    alternatives.push_back({{"variant", other.variant},
                            {"refusal", other.refusal},
                            {"time_us", other.time_us},
                            {"measured_us", other.measured_us}});
  }
  Json arguments = Json::array();
  for (const iris::Argument& argument : plan.arguments) arguments.push_back(json_of(plan, argument));
  for (const iris::Scalar& scalar : plan.scalars)
    arguments.push_back({{"name", scalar.name}, {"access", iris::value_access}, {"dtype", to_string(scalar.type)}});
  Json intermediates = Json::array();
  for (const iris::Intermediate& buffer : plan.intermediates) {
    intermediates.push_back({{"name", buffer.name},
                             {"dtype", to_string(buffer.dtype)},
                             {"shape", describe_shape(plan.problem, buffer.shape)},
                             {"symmetric", buffer.symmetric}});
  }
  Json kernels = Json::array();
  for (const KernelPlan& kernel : plan.kernels) kernels.push_back(json_of(kernel));
  Json schedules = Json::array();
  for (const iris::Schedule& schedule : plan.schedules) {
    Json steps = Json::array();
    for (const iris::Step& step : schedule.steps) steps.push_back(words_of(plan, step));
    Json bounds = Json::object();
    for (const iris::Bound& bound : schedule.bounds)
      bounds[bound.extent] = {{"up_to", iris::json_of_limit(bound.up_to)}, {"multiple_of", bound.multiple_of}};
    schedules.push_back(
        {{"up_to", iris::json_of_limit(schedule.up_to)}, {"bounds", std::move(bounds)}, {"steps", std::move(steps)}});
  }
  const Prediction& prediction = plan.prediction;
  const Json json = {
      {"name", plan.name},
      {"pattern", plan.problem.pattern},
      {"world", plan.problem.world},
      {"target", plan.target->name},
      {"variant", plan.variant},
      {"timeout_ms", plan.timeout_ms},
      {"in_place", iris::in_place_names.at(static_cast<std::size_t>(plan.in_place))},
      {"deterministic", plan.deterministic},
      {"choices", std::move(choices)},
      {"alternatives", std::move(alternatives)},
      {"measured_at", plan.measured_at},
      {"arguments", std::move(arguments)},
      {"intermediates", std::move(intermediates)},
      {"kernels", std::move(kernels)},
      {"schedules", std::move(schedules)},
      {"prediction",
       {{"link_bytes", prediction.link_bytes},
        {"floor_us", prediction.floor_us},
        {"time_us", prediction.time_us},
        {"basis", prediction.basis}}},
  };
  return json.dump(2) + "\n";
}

}  // namespace irisgen
