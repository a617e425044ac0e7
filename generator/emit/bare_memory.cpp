#include "generator/emit/bare_memory.hpp"

#include <algorithm>
#include <vector>

#include "generator/emit/amount.hpp"
#include "generator/emit/layout.hpp"
#include "iris/device/abi.hpp"

namespace irisgen {
namespace {

/// Of everything that is placed, in bytes.
constexpr std::int64_t alignment = 256;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// What kernels keep whatever the extents are.
struct Counts {
  std::int64_t flags;
  std::int64_t launches;
};

/// Those of all kernels, and where they end.
std::vector<Counts> place_counts(const Plan& plan, std::int64_t& end) {
  constexpr auto flag_bytes = static_cast<std::int64_t>(sizeof(iris::device::u64));
  constexpr auto count_bytes = static_cast<std::int64_t>(sizeof(iris::device::LaunchCount));
  std::vector<Counts> counts;
  for (const KernelPlan& kernel : plan.kernels) {
    const std::int64_t launches = end + aligned(kernel.flags * flag_bytes);
    counts.push_back({end, launches});
    end = launches + aligned(kernel.number("blocks") * count_bytes);
  }
  return counts;
}

std::string at_most(const std::string& amount, std::int64_t most) {
  return most == iris::every_size ? amount : "std::min<std::int64_t>(" + amount + ", " + std::to_string(most) + ")";
}

/// The most bytes that a term of a kernel's workspace comes to within the capacity. Where it names every dynamic
/// extent, the largest size bounds their product.
Amount most_of(const Plan& plan, std::size_t kernel, const iris::ByteSize::Term& term) {
  const auto longest = [&](const std::string& extent) {
    return at_most(capacity_of(extent), iris::largest_length(plan.schedules, kernel, extent));
  };
  Amount known = term.bytes;
  Amount product = 1;
  for (const std::string& name : term.extents) {
    Amount& factor = plan.problem.extent(name).dynamic ? product : known;
    factor = factor * amount_of({.extent = name}, plan.problem, longest);
  }
  std::int64_t largest = iris::largest_size(plan.schedules, kernel);
  if (product.is_known() || largest == iris::every_size) return known * product;
  for (const auto& [name, extent] : plan.problem.extents) {
    if (!extent.dynamic) {
      largest /= std::max<std::int64_t>(1, extent.value);
    } else if (std::ranges::find(term.extents, name) == term.extents.end()) {
      return known * product;
    }
  }
  return known * Amount::named(at_most(product.text(), largest));
}

std::vector<Amount> workspace_of(const Plan& plan, std::size_t kernel) {
  std::vector<Amount> terms;
  for (const iris::ByteSize::Term& term : plan.kernels[kernel].workspace.terms)
    terms.push_back(most_of(plan, kernel, term));
  return terms;
}

Amount bytes_of(const Plan& plan, const iris::Intermediate& buffer) {
  Amount bytes = iris::bytes_of(buffer.dtype);
  const auto longest = [&](const std::string& extent) {
    return at_most(capacity_of(extent), iris::largest_length(plan.schedules, buffer, extent));
  };
  for (const iris::Dimension& dimension : buffer.shape) bytes = bytes * amount_of(dimension, plan.problem, longest);
  return bytes;
}

/// `to` ends with the operator.
std::string assignment(const std::string& to, const std::string& value) {
  const bool fits = to.size() + value.size() + 2 <= max_line;
  return to + (fits ? " " : "\n        ") + value + ";\n";
}

std::string layout_struct(const Plan& plan) {
  std::string text =
      "  /// Where in Rank::memory things lie, in bytes from its begin.\n  struct Layout {\n    struct Kernel {\n"
      "      std::size_t flags;\n      std::size_t launches;  ///< counts of them, one for each block\n"
      "      std::size_t workspace;\n      std::size_t workspace_bytes;  ///< of two ping-pong buffers\n    };\n";
  for (const KernelPlan& kernel : plan.kernels) text += "    Kernel " + name_in_bare(kernel) + ";\n";
  text += "    std::size_t zeroed_end;\n";
  for (const iris::Intermediate& buffer : plan.intermediates) text += "    std::size_t " + buffer.name + ";\n";
  return text + "    std::size_t end;\n  };\n";
}

std::string static_layout(const Plan& plan) {
  std::int64_t end = 0;
  const std::vector<Counts> counts = place_counts(plan, end);
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    std::int64_t bytes = 0;
    for (const Amount& term : workspace_of(plan, i)) bytes += term.known();
    const std::int64_t workspace_bytes = 2 * aligned((bytes + 1) / 2);  // two ping-pong buffers
    text += "    layout." + name_in_bare(plan.kernels[i]) + " = {.flags = " + std::to_string(counts[i].flags) +
            ", .launches = " + std::to_string(counts[i].launches) + ", .workspace = " + std::to_string(end) +
            ", .workspace_bytes = " + std::to_string(workspace_bytes) + "};\n";
    end += workspace_bytes;
  }
  text += "    layout.zeroed_end = " + std::to_string(end) + ";\n";
  for (const iris::Intermediate& buffer : plan.intermediates) {
    text += "    layout." + buffer.name + " = " + std::to_string(end) + ";\n";
    end += aligned(bytes_of(plan, buffer).known());
  }
  return text + "    layout.end = " + std::to_string(end) + ";\n";
}

std::string dynamic_layout(const Plan& plan) {
  std::int64_t end = 0;
  const std::vector<Counts> counts = place_counts(plan, end);
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    text += "    layout." + name_in_bare(plan.kernels[i]) + ".flags = " + std::to_string(counts[i].flags) +
            ";\n    layout." + name_in_bare(plan.kernels[i]) + ".launches = " + std::to_string(counts[i].launches) +
            ";\n";
  }
  text += "    layout.end = " + std::to_string(end) + ";\n";
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::string kernel = "    layout." + name_in_bare(plan.kernels[i]);
    const std::string bytes = sum_text(workspace_of(plan, i));
    text += kernel + ".workspace = layout.end;\n";
    if (bytes == "0") continue;
    text += assignment(kernel + ".workspace_bytes =", "2 * aligned((" + bytes + " + 1) / 2)") +
            "    layout.end += layout." + name_in_bare(plan.kernels[i]) + ".workspace_bytes;\n";
  }
  text += "    layout.zeroed_end = layout.end;\n";
  for (const iris::Intermediate& buffer : plan.intermediates) {
    text += "    layout." + buffer.name + " = layout.end;\n" +
            assignment("    layout.end +=", "aligned(" + bytes_of(plan, buffer).text() + ")");
  }
  return text;
}

}  // namespace

std::string capacity_of(const std::string& extent) {
  return "capacity_" + extent;
}

std::string name_in_bare(const KernelPlan& kernel) {
  return kernel.part.empty() ? "kernel" : kernel.part;
}

std::string bare_layout(const Plan& plan) {
  const bool is_static = extents_with_capacity(plan).empty();
  const std::string rounding =
      "  static constexpr std::size_t aligned(std::int64_t bytes) { return static_cast<std::size_t>(bytes + " +
      std::to_string(alignment - 1) + ") / " + std::to_string(alignment) + " * " + std::to_string(alignment) + "; }\n";
  return layout_struct(plan) + (is_static ? "" : rounding) + "  static constexpr Layout layout(" +
         capacity_parameters(plan) + ") {\n    Layout layout{};\n" +
         (is_static ? static_layout(plan) : dynamic_layout(plan)) + "    return layout;\n  }\n";
}

std::vector<std::string> extents_with_capacity(const Plan& plan) {
  std::vector<std::string> names;
  for (const std::string& name : plan.problem.dynamic_extents()) {
    const auto is_in_term = [&](const iris::ByteSize::Term& term) {
      return std::ranges::find(term.extents, name) != term.extents.end();
    };
    const auto is_in_kernel = [&](const KernelPlan& kernel) {
      return std::ranges::any_of(kernel.workspace.terms, is_in_term);
    };
    const auto is_in_buffer = [&](const iris::Intermediate& buffer) {
      return std::ranges::find(buffer.shape, name, &iris::Dimension::extent) != buffer.shape.end();
    };
    if (std::ranges::any_of(plan.kernels, is_in_kernel) || std::ranges::any_of(plan.intermediates, is_in_buffer))
      names.push_back(name);
  }
  return names;
}

std::string capacity_parameters(const Plan& plan) {
  std::string text;
  for (const std::string& name : extents_with_capacity(plan))
    text += (text.empty() ? "" : ", ") + ("std::int64_t " + capacity_of(name));
  return text;
}

std::string capacity_values(const Plan& plan) {
  std::string text;
  for (const std::string& name : extents_with_capacity(plan)) text += (text.empty() ? "" : ", ") + capacity_of(name);
  return text;
}

}  // namespace irisgen
