#include "runtime/verify/run_parts.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <type_traits>

#include "runtime/world/packing.hpp"

namespace iris {
namespace {

/// What is the same kind of thing in every process of one program.
struct Numbers {
  std::int64_t elements;
  std::int64_t wrong;
  WorstElement worst;
};
static_assert(std::is_trivially_copyable_v<Numbers>);

void add_numbers(const std::string& bytes, RunReport& report) {
  Numbers numbers{};
  if (bytes.size() != sizeof numbers) throw std::runtime_error("another rank runs another irisgen");
  std::memcpy(&numbers, bytes.data(), sizeof numbers);
  report.elements += numbers.elements;
  report.wrong += numbers.wrong;
  if (is_worse(numbers.worst, report.worst)) report.worst = numbers.worst;
}

}  // namespace

bool is_worse(const WorstElement& found, const WorstElement& worst) {
  if (worst.element.index < 0) return true;
  return found.element.severity > worst.element.severity || (found.element.wrong > 0 && worst.element.wrong == 0);
}

std::string pack_part(const RunReport& report, int rank) {
  const Numbers numbers{report.elements, report.wrong, report.worst};
  std::vector<std::string> outputs;
  for (const RunOutput& output : report.outputs) {
    if (output.content.empty()) continue;
    const std::vector<std::byte>& content = output.content.at(static_cast<std::size_t>(rank));
    outputs.emplace_back(reinterpret_cast<const char*>(content.data()), content.size());
  }
  return pack(
      {std::string(reinterpret_cast<const char*>(&numbers), sizeof numbers), pack(report.violations), pack(outputs)});
}

void merge_parts(std::span<const std::string> parts, RunReport& report) {
  report.elements = report.wrong = 0;
  report.worst = {};
  report.violations.clear();
  const auto kept = static_cast<std::size_t>(
      std::ranges::count_if(report.outputs, [](const RunOutput& output) { return !output.content.empty(); }));
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    const std::vector<std::string> part = unpack(parts[rank], 3);
    add_numbers(part[0], report);
    for (std::string& violation : unpack(part[1])) report.violations.push_back(std::move(violation));
    const std::vector<std::string> outputs = unpack(part[2], kept);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto bytes = std::as_bytes(std::span(outputs[i]));
      report.outputs[i].content.at(rank).assign(bytes.begin(), bytes.end());
    }
  }
}

}  // namespace iris
