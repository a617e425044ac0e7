#include "generator/cli/run_report.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "generator/cli/tensors.hpp"
#include "generator/cli/terminal.hpp"
#include "generator/language/join.hpp"
#include "generator/plan/describe.hpp"

namespace irisgen::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string milliseconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 10 ? "%.1f ms" : "%.0f ms", value);
  return text;
}

std::string plural(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string paint(const char* color, const std::string& text) {
  return color_wanted(STDOUT_FILENO) ? color + text + "\033[0m" : text;
}

/// "rank 3, output[17]", with the launch if there were several.
std::string place_of_worst(const RunOutcome& outcome) {
  const iris::WorstElement& worst = outcome.report.worst;
  const iris::RunOutput& output = outcome.report.outputs.at(worst.output);
  std::string place = "rank " + std::to_string(worst.rank) + ", " + output.name +
                      place_in(shown_shape(output.shape), worst.element.index);
  if (outcome.launches > 1) place += ", launch " + std::to_string(worst.launch);
  return place;
}

/// "; last stored by halo.hip:42:7 (rank 0, block 2, thread 5)"; empty if nobody looked.
std::string store_of_worst(const iris::RunReport& report) {
  if (!report.watched) return "";
  if (!report.stored_by) return "; never stored";
  const iris::StoreWatch::Store& store = *report.stored_by;
  return "; last stored by " + (store.place.empty() ? "" : store.place + " ") + "(rank " + std::to_string(store.rank) +
         ", block " + std::to_string(store.block) + ", thread " + std::to_string(store.thread) + ")";
}

void print_worst(const RunOutcome& outcome) {
  const iris::Comparison& element = outcome.report.worst.element;
  if (element.index < 0) return;
  std::cout << "  largest error " << number(element.error) << " of " << number(element.tolerance) << " allowed, at "
            << place_of_worst(outcome) << ": " << number(element.actual) << ", expected " << number(element.expected)
            << store_of_worst(outcome.report) << '\n';
}

void print_verdict(const RunOutcome& outcome) {
  const iris::RunReport& report = outcome.report;
  for (const std::string& violation : report.violations) std::cout << "  " << violation << '\n';
  if (!report.verified) {
    std::cout << "  not verified" << (outcome.has_reference ? "\n" : ": the description names no reference\n");
  } else if (report.passed) {
    std::cout << "  " << paint("\033[1;32m", "verified") << ": all " << plural(report.elements, "element") << " of "
              << plural(outcome.built.manifest.problem.world, "rank") << " agree with the float64 reference\n";
  } else {
    std::cout << "  " << paint("\033[1;31m", "WRONG") << ": " << report.wrong << " of "
              << plural(report.elements, "element") << " are over their tolerance\n";
  }
}

/// NaN and infinities have no JSON number; they become null.
Json finite(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

/// `null` where nobody looked, or nobody stored it: `watched` tells which.
Json store_json(const iris::RunReport& report) {
  if (!report.watched || !report.stored_by) return nullptr;
  const iris::StoreWatch::Store& store = *report.stored_by;
  return {{"place", store.place}, {"rank", store.rank}, {"block", store.block}, {"thread", store.thread}};
}

Json worst_json(const RunOutcome& outcome) {
  const iris::WorstElement& worst = outcome.report.worst;
  if (worst.element.index < 0) return nullptr;
  return {{"launch", worst.launch},
          {"rank", worst.rank},
          {"argument", outcome.report.outputs.at(worst.output).name},
          {"index", worst.element.index},
          {"actual", finite(worst.element.actual)},
          {"expected", finite(worst.element.expected)},
          {"error", finite(worst.element.error)},
          {"tolerance", finite(worst.element.tolerance)},
          {"watched", outcome.report.watched},
          {"stored_by", store_json(outcome.report)}};
}

bool from_cache(const RunOutcome& outcome) {
  return std::ranges::all_of(outcome.built.code, &iris::CodeObject::from_cache);
}

/// "32 x 512", of each kernel.
std::string grids_of(const iris::Manifest& manifest) {
  std::vector<std::string> grids;
  grids.reserve(manifest.kernels.size());
  for (const iris::KernelEntry& kernel : manifest.kernels) {
    grids.push_back(std::to_string(kernel.blocks) + " x " + std::to_string(kernel.threads));
  }
  return join(grids);
}

/// ", output (8, 40)", of each output.
std::string shapes_of(const iris::RunReport& report) {
  std::string text;
  for (const iris::RunOutput& output : report.outputs)
    text += ", " + output.name + ' ' + shape_text(shown_shape(output.shape));
  return text;
}

Json shapes_json(const iris::RunReport& report) {
  Json shapes = Json::object();
  for (const iris::RunOutput& output : report.outputs) shapes[output.name] = shown_shape(output.shape);
  return shapes;
}

Json kernels_json(const iris::Manifest& manifest) {
  Json kernels = Json::array();
  for (const iris::KernelEntry& kernel : manifest.kernels) {
    kernels.push_back(
        {{"symbol", kernel.symbol}, {"part", kernel.part}, {"blocks", kernel.blocks}, {"threads", kernel.threads}});
  }
  return kernels;
}

}  // namespace

void print_outcome(const RunOutcome& outcome) {
  const iris::Manifest& manifest = outcome.built.manifest;
  const iris::RunReport& report = outcome.report;
  const iris::Problem& problem = manifest.problem;
  const std::string variant = problem.pattern == user_pattern ? "" : " (" + manifest.variant + ")";
  const std::string what = pattern_words(problem.pattern) + variant;
  std::cout << heading(manifest.name) << ": " << what << " of " << to_string(problem.dtype) << ", "
            << plural(problem.world, "rank") << " on " << manifest.target << " (" << report.device << ")"
            << shapes_of(report) << '\n';
  std::cout << "  compiled by " << outcome.built.code.front().compiler << " in " << milliseconds(outcome.build_ms)
            << (from_cache(outcome) ? " (from the cache)" : "") << "; " << outcome.launches
            << (outcome.launches == 1 ? " launch of " : " launches of ") << grids_of(manifest) << " threads in "
            << milliseconds(report.launch_ms) << '\n';
  if (report.verified) print_worst(outcome);
  print_verdict(outcome);
}

Json to_json(const RunOutcome& outcome) {
  const iris::Manifest& manifest = outcome.built.manifest;
  const iris::RunReport& report = outcome.report;
  return {{"kernel", manifest.name},           {"pattern", manifest.problem.pattern},
          {"variant", manifest.variant},       {"dtype", to_string(manifest.problem.dtype)},
          {"world", manifest.problem.world},   {"target", manifest.target},
          {"device", report.device},           {"compiler", outcome.built.code.front().compiler},
          {"from_cache", from_cache(outcome)}, {"kernels", kernels_json(manifest)},
          {"launches", outcome.launches},      {"shapes", shapes_json(report)},
          {"verified", report.verified},       {"passed", report.passed},
          {"elements", report.elements},       {"wrong", report.wrong},
          {"worst", worst_json(outcome)},      {"violations", report.violations},
          {"build_ms", outcome.build_ms},      {"setup_ms", report.setup_ms},
          {"launch_ms", report.launch_ms},     {"verify_ms", report.verify_ms}};
}

}  // namespace irisgen::cli
