#include "generator/plan/compose.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "generator/plan/choose.hpp"

namespace irisgen {
namespace {

template <typename Value>
const Value* find(const std::vector<std::pair<std::string, Value>>& map, std::string_view name) {
  const auto found = std::ranges::find(map, name, [](const auto& entry) { return entry.first; });
  return found == map.end() ? nullptr : &found->second;
}

template <typename Value>
const Value& mapped(const std::vector<std::pair<std::string, Value>>& map, const std::string& name) {
  const Value* found = find(map, name);
  if (!found) throw std::logic_error("a part's '" + name + "' is not given");
  return *found;
}

using ExtentMap = std::vector<std::pair<std::string, Dimension>>;

/// A dimension of the part as one of the whole.
Dimension translate(const Dimension& dimension, const ExtentMap& extents) {
  if (dimension.extent.empty()) return dimension;  // a number
  const Dimension& whole = mapped(extents, dimension.extent);
  const bool is_whole = dimension.factor == 1 && dimension.divisor == 1 && dimension.multiple == 1;
  if (whole.multiple != 1 && !is_whole)
    throw std::logic_error("a part's dimension is of more than its extent, which is rounded up in the whole");
  return {.extent = whole.extent,
          .factor = whole.factor * dimension.factor,
          .divisor = whole.divisor * dimension.divisor,
          .multiple = std::max(whole.multiple, dimension.multiple)};
}

std::vector<Dimension> translate(std::vector<Dimension> shape, const ExtentMap& extents) {
  for (Dimension& dimension : shape) dimension = translate(dimension, extents);
  return shape;
}

iris::ByteSize translate(iris::ByteSize size, const ExtentMap& extents) {
  for (iris::ByteSize::Term& term : size.terms) {
    for (std::string& name : term.extents) {
      const Dimension& whole = mapped(extents, name);
      if (whole.multiple != 1)
        throw std::logic_error("a part's workspace grows with an extent that is rounded up in the whole");
      term.bytes = (term.bytes * whole.factor + whole.divisor - 1) / whole.divisor;
      name = whole.extent;
    }
  }
  return size;
}

Problem with_extents(Problem part, const Problem& whole, const ExtentMap& extents) {
  part.world = whole.world;
  part.extents.clear();
  for (const auto& [name, dimension] : extents) {
    iris::Extent extent = extent_of(whole, dimension);
    if (pattern_of(part).product == nullptr) extent.multiple = 1;  // nobody else asks, and all others are alike
    part.extents.push_back({name, extent});
  }
  return part;
}

}  // namespace

Composition::Composition(const Request& request) : request_(request) {
  draft_.arguments = pattern_of(request.problem).arguments(request.problem);
}

void Composition::add_intermediate(std::string name, Dtype dtype, std::vector<Dimension> shape) {
  draft_.intermediates.push_back({std::move(name), dtype, std::move(shape), false});
}

void Composition::add(const PartRequest& part) {
  const Problem problem = with_extents(part.problem, request_.problem, part.extents);
  Launches launches = {.typical = with_extents(part.problem, request_.typical(), part.extents),
                       .templates = request_.launches.templates};
  if (const Dimension* rows = find(part.extents, "m"); rows && rows->extent == "m" && request_.launches.most_rows)
    launches.most_rows = divide_up(*request_.launches.most_rows * rows->factor, rows->divisor);
  auto [variant, draft] = choose_part(
      {request_.spec, problem, request_.target, settings_of_part(request_.config, part.settings), {}, launches});
  for (KernelPlan& kernel : draft.kernels) rename_settings(kernel, part.settings);
  add(part, *variant, std::move(draft));
}

void Composition::add(const PartRequest& part, const Variant& variant, Draft draft) {
  auto buffers = part.buffers;
  for (const iris::Intermediate& own : draft.intermediates) {
    buffers.emplace_back(own.name, part.name + "_" + own.name);
    draft_.intermediates.push_back(
        {buffers.back().second, own.dtype, translate(own.shape, part.extents), own.symmetric});
  }
  for (const Argument& argument : draft.arguments) require(mapped(buffers, argument.name), argument);
  std::vector<int> numbers(draft.kernels.size());
  std::iota(numbers.begin(), numbers.end(), static_cast<int>(draft_.kernels.size()));
  for (iris::Step step : draft.steps) {
    number_kernels(step, numbers);
    if (auto* launch = std::get_if<iris::LaunchStep>(&step.action)) {
      for (std::string& buffer : launch->buffers) buffer = mapped(buffers, buffer);
      launch->extents = translate(std::move(launch->extents), part.extents);
      for (iris::MatrixMap& map : launch->maps) {
        map.buffer = mapped(buffers, map.buffer);
        map.rows = translate(map.rows, part.extents);
        map.columns = translate(map.columns, part.extents);
        if (map.last_of) map.last_of = translate(*map.last_of, part.extents);
      }
      if (launch->tiles) {
        launch->tiles->rows = translate(launch->tiles->rows, part.extents);
        launch->tiles->columns = translate(launch->tiles->columns, part.extents);
      }
    } else if (auto* copy = std::get_if<iris::CopyStep>(&step.action)) {
      copy->from = mapped(buffers, copy->from);
      copy->to = mapped(buffers, copy->to);
      copy->shape = translate(std::move(copy->shape), part.extents);
    }
    draft_.steps.push_back(std::move(step));
  }
  for (const KernelPlan& kernel : draft.kernels) add_kernel(kernel, part);
  Problem problem = with_extents(part.problem, request_.problem, part.extents);
  draft_.parts.push_back({&variant, std::move(problem), part.extents, std::make_shared<const Draft>(std::move(draft))});
}

void Composition::add_kernel(KernelPlan kernel, const PartRequest& part) {
  kernel.part = part.name + (kernel.part.empty() ? "" : "_" + kernel.part);
  kernel.workspace = translate(std::move(kernel.workspace), part.extents);
  draft_.kernels.push_back(std::move(kernel));
}

/// What a part asks of a buffer, the whole asks of its argument, or gives. Intermediates are aligned as it is.
void Composition::require(const std::string& buffer, const Argument& argument) {
  const auto own = std::ranges::find(draft_.intermediates, buffer, &iris::Intermediate::name);
  if (own != draft_.intermediates.end()) own->symmetric = own->symmetric || argument.symmetric;
  const auto whole = std::ranges::find(draft_.arguments, buffer, &Argument::name);
  if (whole == draft_.arguments.end()) return;
  whole->alignment = std::max(whole->alignment, argument.alignment);
  whole->symmetric = whole->symmetric || argument.symmetric;
}

Settings settings_of_part(const Settings& whole, const SettingNames& names) {
  Settings settings;
  for (const auto& [own, of_whole] : names) {
    if (const auto setting = whole.find(of_whole); setting != whole.end()) settings[own] = setting->second;
  }
  return settings;
}

void rename_settings(KernelPlan& kernel, const SettingNames& names) {
  for (Constant& constant : kernel.constants) {
    const std::string* of_whole = find(names, constant.setting);
    constant.setting = of_whole ? *of_whole : "";
  }
}

std::vector<Work> cost_of_parts(const Problem& problem, const Target& target, const Draft& draft) {
  // Measured on two and on four H100s: until blocks are at work on what the kernel before has made, or sent.
  constexpr double behind_collective_us = 1.5;
  constexpr double before_collective_us = 3;
  constexpr double before_lines_us = 1.5;
  constexpr double set_up_meanwhile_us = 1;  // on an H200, where neither launch knows of other ranks
  const iris::Extents lengths = problem.static_extents();
  std::vector<Work> works;
  bool was_collective = false;
  for (const Part& part : draft.parts) {
    iris::Extents given;
    for (const auto& [name, dimension] : part.extents) given.set(name, iris::length_of(dimension, lengths));
    std::vector<Work> own = part.variant->cost(part.problem.at(given), target, *part.draft);
    const bool is_collective = pattern_of(part.problem).bus != nullptr;
    double& behind_us = own.front().behind_us;
    if (works.empty() || !target.measured) {
      behind_us = 0;
    } else if (is_collective) {
      behind_us = own.front().lines > 0 ? before_lines_us : before_collective_us;
    } else if (was_collective) {
      behind_us = draft.kernels.front().lets_next_begin ? 0 : behind_collective_us;
    } else {
      behind_us = part.draft->kernels.front().waits ? 0 : -set_up_meanwhile_us;
    }
    was_collective = is_collective;
    works.insert(works.end(), own.begin(), own.end());
  }
  return works;
}

std::vector<Work> cost_of(const Variant& variant, const Problem& problem, const Target& target, const Draft& draft) {
  return draft.parts.empty() ? variant.cost(problem, target, draft) : cost_of_parts(problem, target, draft);
}

}  // namespace irisgen
