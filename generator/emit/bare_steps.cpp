#include "generator/emit/bare_steps.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "generator/emit/amount.hpp"
#include "generator/emit/bare_checks.hpp"
#include "generator/emit/bare_memory.hpp"
#include "generator/emit/cpp_types.hpp"
#include "generator/emit/layout.hpp"
#include "generator/language/join.hpp"
#include "iris/device/abi.hpp"

namespace irisgen {
namespace {

using iris::CopyStep;
using iris::LaunchStep;
using iris::SignalStep;
using iris::Step;
using iris::WaitStep;

/// What is enqueued by one call: lines before it, and an expression of the runtime's type of errors.
struct Statement {
  std::string before;
  std::string call;
};

/// A dimension's length in a launch.
Amount length_of(const iris::Dimension& dimension, const Plan& plan) {
  return amount_of(dimension, plan.problem, name_in_launch);
}

/// The peer offset in a step that may be one of a loop over peers.
int* peer_offset(Step& step) {
  if (auto* copy = std::get_if<CopyStep>(&step.action)) return &copy->peer_offset;
  if (auto* signal = std::get_if<SignalStep>(&step.action)) return &signal->peer_offset;
  return nullptr;
}

/// How many steps, from the first on, are alike for every peer in turn; 0 if they are not.
std::size_t steps_of_loop(std::span<const Step> steps, int world) {
  for (const std::size_t body : {1, 2}) {
    const std::size_t all = body * static_cast<std::size_t>(world - 1);
    if (world < 3 || all > steps.size()) continue;
    const auto is_alike = [&](std::size_t i) {
      Step step = steps[i];
      Step first = steps[i % body];
      int* const offset = peer_offset(step);
      if (offset == nullptr || *offset != static_cast<int>(i / body) + 1) return false;
      *offset = 1;
      return peer_offset(first) != nullptr && *peer_offset(first) == 1 && step == first;
    };
    std::size_t alike = 0;
    while (alike < all && is_alike(alike)) ++alike;
    if (alike == all) return body;
  }
  return 0;
}

/// Rows of a block that a copy is about.
struct Rows {
  Amount first;
  Amount count;
};

/// Writes the steps of one schedule as C++.
class StepWriter {
 public:
  StepWriter(const Plan& plan, std::string_view api, std::string indent)
      : plan_(plan), api_(api), indent_(std::move(indent)) {}

  std::string write(std::span<const Step> steps) {
    const auto world = static_cast<std::size_t>(plan_.problem.world);
    while (!steps.empty()) {
      const std::size_t body = steps_of_loop(steps, plan_.problem.world);
      if (body == 0) {
        const Statement statement = statement_of(steps.front(), "");
        const bool is_last = steps.size() == 1;
        text_ += statement.before;
        text_ += is_last ? indent_ + "return " + statement.call + ";\n" : checked(statement.call);
        if (is_last) return std::move(text_);
        steps = steps.subspan(1);
      } else {
        write_loop(steps.first(body));
        steps = steps.subspan(body * (world - 1));
      }
    }
    return text_ + indent_ + "return " + api_ + "Success;\n";
  }

 private:
  void write_loop(std::span<const Step> body) {
    text_ += indent_ + "for (int offset = 1; offset < world; ++offset) {\n" + indent_ +
             "  const int peer = (rank_.rank + offset) % world;\n";
    indent_ += "  ";
    const std::size_t portions_before = portions_.size();
    for (const Step& step : body) {
      const Statement statement = statement_of(step, "peer");
      text_ += statement.before + checked(statement.call);
    }
    portions_.resize(portions_before);
    indent_.resize(indent_.size() - 2);
    text_ += indent_ + "}\n";
  }

  std::string checked(const std::string& call) const { return bare_step(call, api_, indent_); }

  Statement statement_of(const Step& step, const std::string& peer) {
    if (const auto* launch = std::get_if<LaunchStep>(&step.action)) return statement_of(*launch, step.stream);
    if (const auto* copy = std::get_if<CopyStep>(&step.action)) return statement_of(*copy, step.stream, peer);
    if (const auto* signal = std::get_if<SignalStep>(&step.action)) return statement_of(*signal, step.stream, peer);
    return {"", "wait(" + stream_text(std::get<WaitStep>(step.action).stream) + ", " + stream_text(step.stream) + ")"};
  }
  Statement statement_of(const LaunchStep& step, int stream);
  std::string blocks_text(const LaunchStep& step) const;
  Statement statement_of(const CopyStep& step, int stream, const std::string& peer);
  Rows rows_of_portion(const iris::Portion& portion, const Amount& rows, std::string& before);
  Statement statement_of(const SignalStep& step, int stream, const std::string& peer) const;
  std::string map_text(const iris::MatrixMap& map) const;

  static std::string stream_text(int number) {
    return number == 0 ? "stream" : "rank_.streams[" + std::to_string(number - 1) + "]";
  }
  /// `peer` is the name of the variable in a loop over peers.
  static std::string peer_text(int offset, const std::string& peer) {
    if (!peer.empty()) return peer;
    return offset == 0 ? "rank_.rank" : "(rank_.rank + " + std::to_string(offset) + ") % world";
  }
  static Amount number_of(iris::BlockIndex block, const std::string& peer) {
    if (block == iris::BlockIndex::first) return 0;
    if (block == iris::BlockIndex::rank) return Amount::named("rank_.rank");
    return Amount::named(peer.find(' ') == std::string::npos ? peer : "(" + peer + ")");
  }

  const Plan& plan_;
  std::string api_;
  std::string indent_;
  std::string text_;
  std::vector<std::string> portions_;  // what those in scope are, each of which `portion_`, and its index, names
};

std::string StepWriter::map_text(const iris::MatrixMap& map) const {
  const std::string name = parameter_of(map);
  const std::string rows = length_of(map.rows, plan_).text();
  std::string box_rows = std::to_string(map.box_rows);
  if (map.last_of) {
    const Amount of = length_of(*map.last_of, plan_);
    box_rows = of.is_known() ? std::to_string(iris::rows_of_last_box(map.box_rows, of.known()))
                             : "last_box(" + box_rows + ", " + of.text() + ")";
  }
  return indent_ + "iris::device::TensorMap " + name + "{};\n" +
         checked("tensor_map(&" + name + ", " + name_in_launch(map.buffer) + ", " +
                 std::to_string(iris::bytes_of(map.dtype)) + ", " + rows + ", " + length_of(map.columns, plan_).text() +
                 ", " + box_rows + ", " + std::to_string(map.box_columns) + ")");
}

iris::Dtype dtype_of(const Plan& plan, const std::string& buffer) {
  const auto argument = std::ranges::find(plan.arguments, buffer, &iris::Argument::name);
  if (argument != plan.arguments.end()) return argument->dtype;
  return std::ranges::find(plan.intermediates, buffer, &iris::Intermediate::name)->dtype;
}

/// As a kernel takes it: of elements of tf32, which programs have as f32.
std::string passed(const iris::Argument& parameter, const std::string& buffer) {
  if (parameter.dtype != iris::Dtype::tf32) return name_in_launch(buffer);
  const bool is_const = parameter.access == iris::Access::read;
  return std::string("reinterpret_cast<") + (is_const ? "const " : "") + "iris::device::TensorFloat32*>(" +
         name_in_launch(buffer) + ")";
}

std::string StepWriter::blocks_text(const LaunchStep& step) const {
  const std::int64_t blocks = plan_.kernels[static_cast<std::size_t>(step.kernel)].number("blocks");
  if (!step.tiles) return std::to_string(blocks);
  const Amount rows = length_of(step.tiles->rows, plan_);
  const Amount columns = length_of(step.tiles->columns, plan_);
  return "blocks_with_tiles(" + std::to_string(blocks) + ", " + rows.text() + ", " +
         std::to_string(step.tiles->tile_rows) + ", " + columns.text() + ", " +
         std::to_string(step.tiles->tile_columns) + ")";
}

Statement StepWriter::statement_of(const LaunchStep& step, int stream) {
  const KernelPlan& kernel = plan_.kernels[static_cast<std::size_t>(step.kernel)];
  // The maps' names are free again for the next kernel's.
  const bool has_scope = !step.maps.empty() && plan_.kernels.size() > 1;
  std::string text;
  if (has_scope) {
    text = indent_ + "{\n";
    indent_ += "  ";
  }
  std::vector<std::string> arguments = {"context(layout_." + name_in_bare(kernel) + ")"};
  for (std::size_t i = 0; i < step.buffers.size(); ++i)
    arguments.push_back(passed(kernel.arguments.at(i), step.buffers[i]));
  for (const iris::Dimension& extent : step.extents) arguments.push_back(length_of(extent, plan_).text());
  for (const iris::Scalar& scalar : plan_.scalars) arguments.push_back(name_in_launch(scalar.name));
  for (const iris::MatrixMap& map : step.maps) {
    text += map_text(map);
    arguments.push_back(parameter_of(map));
  }
  const std::string head = indent_ + entry_in_bare(kernel) + "<<<" + blocks_text(step) + ", " +
                           std::to_string(kernel.number("threads")) + ", 0, " + stream_text(stream) + ">>>(";
  text += lay_out_signature(head, join(arguments), ");") + "\n";
  if (has_scope) {
    indent_.resize(indent_.size() - 2);
    text += indent_ + "}\n";
  }
  return {std::move(text), api_ + "GetLastError()"};
}

/// Of a block whose rows are known only in a launch: by a variable, defined in `before` where none in scope is the
/// same.
Rows StepWriter::rows_of_portion(const iris::Portion& portion, const Amount& rows, std::string& before) {
  const std::string definition = "rows_of_portion(" + rows.text() + ", " + std::to_string(portion.number) + ", " +
                                 std::to_string(portion.count) + ", " + std::to_string(portion.granule) + ")";
  const auto found = std::ranges::find(portions_, definition);
  const std::string name = "portion_" + std::to_string(found - portions_.begin());
  if (found == portions_.end()) {
    portions_.push_back(definition);
    before += indent_ + "const Rows " + name + " = " + definition + ";\n";
  }
  return {Amount::named(name + ".first"), Amount::named(name + ".count")};
}

/// `(rank_.rank * rows + first) * row_bytes`, multiplied out.
std::string offset_text(const Amount& block, const Amount& rows, const Amount& first, const Amount& row_bytes) {
  const Amount whole = row_bytes * rows;
  const bool is_number = whole.is_known() && !block.is_known();
  // A rank is an int; so many bytes need not be.
  return sum_text({is_number ? Amount::named(whole.text() + "LL") * block : whole * block, row_bytes * first});
}

Statement StepWriter::statement_of(const CopyStep& step, int stream, const std::string& peer) {
  const std::string to_peer = peer_text(step.peer_offset, peer);
  const Amount rows = length_of(step.shape.front(), plan_);
  Amount row_bytes = iris::bytes_of(dtype_of(plan_, step.from));
  for (const iris::Dimension& dimension : std::span(step.shape).subspan(1))
    row_bytes = row_bytes * length_of(dimension, plan_);
  Statement statement;
  Rows copied = {0, rows};
  if (rows.is_known()) {
    const auto [first, count] = iris::rows_of(step.portion, rows.known());
    copied = {first, count};
  } else if (step.portion.count > 1) {
    copied = rows_of_portion(step.portion, rows, statement.before);
  }
  statement.call = "copy(" + name_in_launch(step.from) + ", " +
                   offset_text(number_of(step.from_block, to_peer), rows, copied.first, row_bytes) + ", " +
                   name_in_launch(step.to) + ", " +
                   offset_text(number_of(step.to_block, to_peer), rows, copied.first, row_bytes) + ", " + to_peer +
                   ", " + (row_bytes * copied.count).text() + ", " + stream_text(stream) + ")";
  return statement;
}

Statement StepWriter::statement_of(const SignalStep& step, int stream, const std::string& peer) const {
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(iris::device::u64));
  const std::string to_peer = peer_text(step.peer_offset, peer);
  const auto flag = [&](const iris::FlagIndex& index) {
    const KernelPlan& kernel = plan_.kernels[static_cast<std::size_t>(index.kernel)];
    return sum_text({Amount::named("layout_." + name_in_bare(kernel) + ".flags"), Amount(index.first * bytes),
                     Amount(bytes) * number_of(index.of, to_peer)});
  };
  return {"", "copy(rank_.memory, " + flag(step.from) + ", rank_.memory, " + flag(step.to) + ", " + to_peer + ", " +
                  std::to_string(bytes) + ", " + stream_text(stream) + ")"};
}

/// Without copies of nothing.
std::vector<Step> steps_of(const Plan& plan, const iris::Schedule& schedule) {
  std::vector<Step> steps = schedule.steps;
  std::erase_if(steps, [&](const Step& step) {
    const auto* copy = std::get_if<CopyStep>(&step.action);
    if (copy == nullptr) return false;
    const Amount rows = length_of(copy->shape.front(), plan);
    return rows.is_known() && iris::rows_of(copy->portion, rows.known()).count == 0;
  });
  return steps;
}

/// Which launches a schedule takes of those that none before it does.
std::string condition_of(const iris::Schedule& schedule, const Plan& plan) {
  std::vector<std::string> conditions;
  if (schedule.up_to != iris::every_size) conditions.push_back("size <= " + std::to_string(schedule.up_to));
  for (const iris::Bound& bound : schedule.bounds) {
    const std::string length = length_of({.extent = bound.extent}, plan).text();
    if (bound.up_to != iris::every_size) conditions.push_back(length + " <= " + std::to_string(bound.up_to));
    if (bound.multiple_of == 1) continue;
    conditions.push_back(length + " > 0");
    conditions.push_back(length + " % " + std::to_string(bound.multiple_of) + " == 0");
  }
  std::string text = conditions.front();
  for (std::size_t i = 1; i < conditions.size(); ++i) text.append(" && ").append(conditions[i]);
  return text;
}

std::string intermediate_pointers(const Plan& plan) {
  std::string text;
  for (const iris::Intermediate& buffer : plan.intermediates) {
    text += "    auto* const " + name_in_launch(buffer.name) + " = reinterpret_cast<" + cpp_type(buffer.dtype) +
            "*>(rank_.memory + layout_." + buffer.name + ");\n";
  }
  return text;
}

}  // namespace

StepNeeds needs_of(const Plan& plan) {
  StepNeeds needs;
  for (const iris::Schedule& schedule : plan.schedules) {
    for (const Step& step : steps_of(plan, schedule)) {
      needs.streams = std::max(needs.streams, step.stream);
      if (const auto* launch = std::get_if<LaunchStep>(&step.action)) {
        needs.maps |= !launch->maps.empty();
        needs.tiles |= launch->tiles.has_value();
      }
      needs.waits |= std::holds_alternative<WaitStep>(step.action);
      needs.signals |= std::holds_alternative<SignalStep>(step.action);
      if (const auto* copy = std::get_if<CopyStep>(&step.action)) {
        needs.copies = true;
        needs.portions |= copy->portion.count > 1 && !length_of(copy->shape.front(), plan).is_known();
      }
    }
  }
  needs.copies |= needs.signals;
  return needs;
}

std::string bare_launch_body(const Plan& plan, std::string_view api) {
  std::string text = extent_checks(plan, api) + intermediate_pointers(plan);
  const auto launches = [](const iris::Schedule& schedule) {
    return std::ranges::any_of(schedule.steps,
                               [](const Step& step) { return std::holds_alternative<LaunchStep>(step.action); });
  };
  if (std::ranges::any_of(plan.schedules, launches))
    text += with_api("    static_cast<void>($GetLastError());  // what calls before have left\n", api);
  const auto has_bound = [](const iris::Schedule& schedule) { return schedule.up_to != iris::every_size; };
  if (std::ranges::any_of(plan.schedules, has_bound)) {
    Amount size = 1;
    for (const iris::NamedExtent& named : plan.problem.extents) size = size * length_of({.extent = named.name}, plan);
    text += "    const std::int64_t size = " + size.text() + ";\n";
  }
  for (const iris::Schedule& schedule : plan.schedules) {
    const bool takes_rest = &schedule == &plan.schedules.back();
    const std::vector<Step> steps = steps_of(plan, schedule);
    if (takes_rest) {
      text += StepWriter(plan, api, "    ").write(steps);
    } else {
      text += "    if (" + condition_of(schedule, plan) + ") {\n" + StepWriter(plan, api, "      ").write(steps) +
              "    }\n";
    }
  }
  return text;
}

std::string with_api(std::string_view text, std::string_view api) {
  std::string result;
  for (const char c : text) c == '$' ? result.append(api) : result.append(1, c);
  return result;
}

std::string bare_step(const std::string& call, std::string_view api, std::string_view indent) {
  const std::string whole = with_api(call, api);
  const std::string head = std::string(indent) + with_api("if (const $Error_t error = ", api);
  const std::string test = with_api("error != $Success)", api);
  const std::string one_line = head + whole + "; " + test + " return error;";
  if (one_line.size() <= max_line) return one_line + "\n";
  if (one_line.size() - std::string_view(" return error;").size() <= max_line)
    return head + whole + "; " + test + "\n" + std::string(indent) + "  return error;\n";
  const std::string second = std::string(indent) + "    " + test + "\n" + std::string(indent) + "  return error;\n";
  if (head.size() + whole.size() < max_line) return head + whole + ";\n" + second;
  const std::string below = std::string(indent) + "        " + whole + ";\n";
  if (below.size() <= max_line + 1) return head.substr(0, head.size() - 1) + "\n" + below + second;
  const std::size_t arguments = whole.find('(') + 1;
  const auto behind = [&](const std::string& begin) {
    return lay_out_signature(begin + whole.substr(0, arguments), whole.substr(arguments), ";") + "\n";
  };
  const std::string beside = behind(head);
  const std::string under = head.substr(0, head.size() - 1) + "\n" + behind(std::string(indent) + "        ");
  const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
  return (lines(under) <= lines(beside) ? under : beside) + second;
}

std::string entry_in_bare(const KernelPlan& kernel) {
  return kernel.part.empty() ? "kernel" : kernel.part + "_kernel";
}

std::string name_in_launch(const std::string& name) {
  // Not "layout": the body names only layout_, which the parameter must not become.
  constexpr std::array<std::string_view, 11> taken = {"context", "copy",       "error",          "kernel",
                                                      "offset",  "peer",       "size",           "stream",
                                                      "wait",    "tensor_map", "rows_of_portion"};
  const bool is_taken =
      std::ranges::find(taken, name) != taken.end() || name == "world" || name.starts_with("portion_");
  return is_taken ? name + "_" : name;
}

}  // namespace irisgen
