#include "iris/jit.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "generator/manifest/hash.hpp"
#include "iris/source_reader.hpp"
#include "iris/tuning.hpp"
#include "runtime/world/group.hpp"

namespace iris {
namespace {

using nlohmann::json;

/// A built operation as bytes, for the ranks that did not build it; or why there is none.
std::string pack(const BuiltOperation& built) {
  json header = {{"manifest", to_json(built.manifest)}, {"code", json::array()}};
  std::string bytes;
  for (const CodeObject& code : built.code) {
    header["code"].push_back({{"compiler", code.compiler}, {"size", code.bytes.size()}});
    bytes.append(reinterpret_cast<const char*>(code.bytes.data()), code.bytes.size());
  }
  return header.dump(-1, ' ', true, json::error_handler_t::replace) + "\n" + bytes;
}

std::string pack_failure(const std::string& words) {
  return json{{"failure", words}}.dump(-1, ' ', true, json::error_handler_t::replace) + "\n";
}

BuiltOperation unpack(std::string_view content) {
  const std::size_t end = content.find('\n');
  const json header = json::parse(content.substr(0, end));
  if (header.contains("failure")) throw std::runtime_error(header.at("failure").get<std::string>());
  content.remove_prefix(end + 1);
  BuiltOperation built;
  built.manifest = parse_manifest(header.at("manifest").get<std::string>());
  for (const json& entry : header.at("code")) {
    const auto bytes = std::as_bytes(std::span(content.substr(0, entry.at("size").get<std::size_t>())));
    built.code.push_back({.target = built.manifest.target,
                          .compiler = entry.at("compiler").get<std::string>(),
                          .bytes = {bytes.begin(), bytes.end()},
                          .resources = {}});
    content.remove_prefix(bytes.size());
  }
  return built;
}

std::string list_of(const std::vector<int>& worlds) {
  std::string list;
  for (const int world : worlds) list += (list.empty() ? "" : ", ") + std::to_string(world);
  return list;
}

/// The kernel of that name, or the only one.
const irisgen::KernelSpec& choose_kernel(const irisgen::Spec& spec, const std::string& name) {
  if (name.empty() && spec.kernels.size() == 1) return spec.kernels.front();
  std::vector<std::string_view> names;
  names.reserve(spec.kernels.size());
  for (const irisgen::KernelSpec& kernel : spec.kernels) names.emplace_back(kernel.name);
  if (name.empty()) {
    throw std::runtime_error(spec.file + " describes " + std::to_string(names.size()) +
                             " kernels; name one in JitOptions::kernel" + irisgen::suggestion("", names));
  }
  if (const irisgen::KernelSpec* kernel = spec.find(name)) return *kernel;
  throw std::runtime_error(spec.file + " has no kernel '" + name + "'" + irisgen::suggestion(name, names));
}

BuiltOperation build_for(Group& group, const irisgen::Spec& spec, const JitOptions& options) {
  const irisgen::KernelSpec& kernel = choose_kernel(spec, options.kernel);
  const int world = group.num_ranks();
  if (std::ranges::find(kernel.worlds, world) == kernel.worlds.end()) {
    throw std::runtime_error("kernel '" + kernel.name + "' is described for worlds of " + list_of(kernel.worlds) +
                             " ranks; this one has " + std::to_string(world));
  }
  const std::string name = group.device().target();
  const irisgen::Target* target = irisgen::find_target(name);
  if (target == nullptr) throw std::runtime_error("irisgen makes no code for " + name + "; see irisgen list");
  const std::vector<const irisgen::Target*> targets = {target};
  irisgen::Spec only = spec;
  only.kernels = {kernel};
  only.kernels.front().worlds = {world};
  attach_source_reader(only);
  const std::vector<irisgen::TuningTable> tables = options.tuning ? *options.tuning : tuning_of_user();
  const irisgen::PlanOptions plan = {.tuning = tables, .device = group.device().description()};
  return build_operation(irisgen::plan_all(only, targets, plan).front(), options.compiler);
}

/// As the user would write it; `what` is the description, in words.
std::string call_of(const std::string& what, const JitOptions& options) {
  const std::string capacity = to_string(options.capacity);
  return "jit(" + what + (options.kernel.empty() ? "" : ", kernel '" + options.kernel + "'") +
         (capacity.empty() ? "" : ", capacity " + capacity) + ")";
}

/// Rank 0 builds and gives the bytes to all, or the words of its failure. Every rank must mean the same description.
Operation load(Group& group, const std::string& call, const JitOptions& options,
               const std::function<irisgen::Spec()>& read) {
  std::string content;
  std::exception_ptr failure;
  if (group.rank() == 0) {
    try {
      content = pack(build_for(group, read(), options));
    } catch (...) {
      failure = std::current_exception();
      content = pack_failure(words_of(failure));
    }
  }
  content = group.state().collectives->broadcast({.call = group.state().call(call), .state = {}}, std::move(content));
  if (failure != nullptr) std::rethrow_exception(failure);
  return {group, unpack(content), options.capacity};
}

}  // namespace

Operation jit(Group& group, std::string_view description, const JitOptions& options) {
  const std::string what = "a description with hash " + sha256_hex(description).substr(0, 8);
  return load(group, call_of(what, options), options,
              [&] { return irisgen::parse_spec("the description", std::string(description)); });
}

Operation jit(Group& group, const irisgen::KernelSpec& description, const JitOptions& options) {
  std::string what = "kernel '" + description.name + "'";
  // Of what is no kernel there is none, which rank 0 tells all.
  words_of_attempt([&] {
    what += " with hash " + sha256_hex(irisgen::canonical_json(description, group.num_ranks())).substr(0, 8);
  });
  return load(group, call_of(what, options), options, [&] {
    irisgen::KernelSpec kernel = description;
    if (kernel.worlds.empty()) kernel.worlds = {group.num_ranks()};
    return irisgen::check(kernel);
  });
}

Operation jit_file(Group& group, const std::string& path, const JitOptions& options) {
  return load(group, call_of(path, options), options, [&] { return irisgen::read_spec(path); });
}

Operation device_barrier(Group& group, int timeout_ms) {
  const std::string name = "device_barrier";
  const JitOptions no_tables = {.tuning = std::vector<irisgen::TuningTable>()};
  return load(group, name + "(timeout of " + std::to_string(timeout_ms) + " ms)", no_tables, [&] {
    const irisgen::KernelSpec barrier = {.name = name,
                                         .written_name = name,
                                         .problem = {.pattern = std::string(irisgen::barrier_pattern)},
                                         .worlds = {group.num_ranks()},
                                         .config = {{"timeout_ms", {.value = timeout_ms}}}};
    return irisgen::Spec{.file = name, .text = {}, .kernels = {barrier}};
  });
}

}  // namespace iris
