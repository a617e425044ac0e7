#include <array>

#include "generator/plan/planning.hpp"

namespace irisgen {
namespace {

std::vector<Argument> arguments(const Problem&) {
  return {};
}

Draft plan_same_block(const Request& request) {
  KernelPlan kernel = barrier_kernel(request);
  kernel.part.clear();  // the whole
  return draft_of(std::move(kernel), InPlace::no);
}

std::vector<Work> cost_of_same_block(const Problem&, const Target&, const Draft&) {
  return {{.signals = 1}};
}

constexpr std::array<std::string_view, 1> templates = {"barrier/same_block.hip"};

constexpr std::array variants = {
    Variant{.name = "same_block",
            .summary = "one block, which tells all others that it is there and waits for theirs",
            .templates = templates,
            .keys = {},
            .plan = plan_same_block,
            .cost = cost_of_same_block},
};

}  // namespace

extern const Pattern barrier = {
    .name = barrier_pattern,
    .summary = "what every rank has enqueued before it is done before any goes on",
    .variants = variants,
    .is_step = true,
    .arguments = arguments,
};

}  // namespace irisgen
