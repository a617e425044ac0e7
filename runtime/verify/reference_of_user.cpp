#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "generator/plan/reference.hpp"
#include "iris/npy.hpp"
#include "iris/reference.hpp"
#include "iris/values.hpp"
#include "irisgen/source.hpp"
#include "irisgen/source_reader.hpp"
#include "runtime/launch/launch_check.hpp"
#include "runtime/verify/compiled_reference.hpp"
#include "runtime/verify/reference_of_functions.hpp"

namespace iris {
namespace {

using irisgen::Expectation;
using irisgen::Plan;
using irisgen::UserReference;
using irisgen::Values;

std::size_t count_of(const Argument& argument, const Extents& extents) {
  return static_cast<std::size_t>(bytes_of(argument, extents) / bytes_of(argument.dtype));
}

/// The values with what the description tolerates. i32 wraps around, in a kernel as here.
Expectation with_tolerance(const Values& values, Dtype dtype, const UserReference& said) {
  Expectation expectation;
  for (const double value : values) {
    const bool finite = std::isfinite(value);
    const double error = finite ? said.absolute + said.relative * std::abs(value) : 0;
    if (dtype == Dtype::i32) {
      expectation.value.push_back(finite ? round_to(value, dtype) : value);
      expectation.tolerance.push_back(error);
    } else {
      irisgen::expect(expectation, dtype, value, error);
    }
  }
  return expectation;
}

/// A function that Clang has compiled for the CPU.
class FunctionReference final : public Reference {
 public:
  FunctionReference(const irisgen::ReferenceSource& source, UserReference said)
      : compiled_(source), said_(std::move(said)) {}

  ExpectedOutputs expect(const Manifest& manifest, const Extents& extents, const Scalars& scalars,
                         const std::vector<std::vector<Values>>& inputs) const override {
    BuffersOfValues values = buffers(manifest, extents, inputs, untouched());
    call(manifest, extents, scalars, values);
    check_all_set(manifest, values);
    BuffersOfValues again = buffers(manifest, extents, inputs, 0);
    call(manifest, extents, scalars, again);
    check_none_read(manifest, values, again);
    ExpectedOutputs expected;
    for (std::size_t i = 0; i < manifest.arguments.size(); ++i) {
      if (manifest.arguments[i].access == Access::read) continue;
      expected.emplace_back();
      for (const Values& of_rank : values[i])
        expected.back().push_back(with_tolerance(of_rank, manifest.arguments[i].dtype, said_));
    }
    return expected;
  }

 private:
  using Function = void(const long long* extents, double* const* const* buffers, const void* const* scalars);
  using BuffersOfValues = std::vector<std::vector<Values>>;  // [argument][rank]

  /// With that in the buffers which are written only.
  static BuffersOfValues buffers(const Manifest& manifest, const Extents& extents,
                                 const std::vector<std::vector<Values>>& inputs, double before) {
    const auto world = static_cast<std::size_t>(manifest.problem.world);
    BuffersOfValues values(manifest.arguments.size());
    std::size_t input = 0;
    for (std::size_t i = 0; i < manifest.arguments.size(); ++i) {
      const Argument& argument = manifest.arguments[i];
      const bool is_input = argument.access != Access::write;
      for (std::size_t rank = 0; rank < world; ++rank)
        values[i].push_back(is_input ? inputs[rank][input] : Values(count_of(argument, extents), before));
      if (is_input) ++input;
    }
    return values;
  }

  /// A NaN that no arithmetic makes.
  static double untouched() { return std::bit_cast<double>(std::uint64_t{0x7ff4'6972'6973'6765}); }

  /// What a reference leaves out would pass for what a kernel leaves out.
  static void check_all_set(const Manifest& manifest, const BuffersOfValues& values) {
    const auto is_untouched = [](double value) {
      return std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(untouched());
    };
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (manifest.arguments[i].access != Access::write) continue;
      for (std::size_t rank = 0; rank < values[i].size(); ++rank) {
        const auto element = std::ranges::find_if(values[i][rank], is_untouched);
        if (element == values[i][rank].end()) continue;
        throw std::runtime_error("the reference of " + manifest.name + " does not say what element " +
                                 std::to_string(element - values[i][rank].begin()) + " of '" +
                                 manifest.arguments[i].name + "' is on rank " + std::to_string(rank) +
                                 "; it must set all of them");
      }
    }
  }

  /// What was there before would be in the kernel's results, too: a NaN that passes for any other.
  static void check_none_read(const Manifest& manifest, const BuffersOfValues& values, const BuffersOfValues& again) {
    const auto same = [](double a, double b) {
      return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (std::isnan(a) && std::isnan(b));
    };
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (manifest.arguments[i].access == Access::read) continue;
      for (std::size_t rank = 0; rank < values[i].size(); ++rank) {
        const Values& first = values[i][rank];
        const auto differing = std::ranges::mismatch(first, again[i][rank], same).in1;
        if (differing == first.end()) continue;
        throw std::runtime_error("the reference of " + manifest.name + " gives another element " +
                                 std::to_string(differing - first.begin()) + " of '" + manifest.arguments[i].name +
                                 "' on rank " + std::to_string(rank) +
                                 " when it is called again with other values in what is only written: it reads one of "
                                 "these buffers, or keeps something between calls. Where a kernel reads its buffer, "
                                 "too, say so: arguments: {NAME: {access: update}}");
      }
    }
  }

  void call(const Manifest& manifest, const Extents& extents, const Scalars& scalars, BuffersOfValues& values) const {
    std::vector<long long> lengths;
    lengths.reserve(manifest.problem.extents.size());
    for (const NamedExtent& extent : manifest.problem.extents) lengths.push_back(extents.at(extent.name));
    std::vector<std::vector<double*>> of_ranks;
    for (std::vector<Values>& argument : values) {
      of_ranks.emplace_back();
      for (Values& of_rank : argument) of_ranks.back().push_back(of_rank.data());
    }
    std::vector<double* const*> buffers;
    buffers.reserve(of_ranks.size());
    for (const std::vector<double*>& argument : of_ranks) buffers.push_back(argument.data());
    const std::vector<ScalarBytes> numbers = resolve_scalars(manifest, scalars);
    std::vector<const void*> pointers;
    pointers.reserve(numbers.size());
    for (const ScalarBytes& number : numbers) pointers.push_back(number.bytes.data());
    compiled_.function<Function>()(lengths.data(), buffers.data(), pointers.data());
  }

  CompiledReference compiled_;
  UserReference said_;
};

/// Expected values in files, one for each rank.
class FileReference final : public Reference {
 public:
  FileReference(std::string folder, UserReference said) : folder_(std::move(folder)), said_(std::move(said)) {}

  ExpectedOutputs expect(const Manifest& manifest, const Extents& extents, const Scalars&,
                         const std::vector<std::vector<Values>>&) const override {
    ExpectedOutputs expected;
    for (const Argument& argument : manifest.arguments) {
      if (argument.access == Access::read) continue;
      const std::string& path = said_.files.at(argument.name).path;  // for the Plan has seen to it
      expected.emplace_back();
      for (int rank = 0; rank < manifest.problem.world; ++rank)
        expected.back().push_back(read(irisgen::path_from(folder_, path_of_rank(path, rank)), argument, extents));
    }
    return expected;
  }

 private:
  Expectation read(const std::string& path, const Argument& argument, const Extents& extents) const {
    const NpyArray array = read_npy(path, argument.dtype);
    const Values values = to_values(array.bytes, argument.dtype);
    if (values.size() != count_of(argument, extents)) {
      throw std::runtime_error(path + " has " + std::to_string(values.size()) + " elements, and '" + argument.name +
                               "' " + std::to_string(count_of(argument, extents)));
    }
    return with_tolerance(values, argument.dtype, said_);
  }

  std::string folder_;
  UserReference said_;
};

irisgen::KernelSource read(const Plan& plan) {
  const irisgen::UserKernel& kernel = plan.user.value();
  irisgen::Report report("kernel '" + plan.name + "'", "");
  try {
    return kernel.reader->read_reference(irisgen::question_of_reference(plan));
  } catch (const irisgen::SourceError& problem) {
    report.error({}, problem.what(), problem.rendered());
  }
  throw irisgen::SpecError(std::move(report));
}

std::shared_ptr<const Reference> compile(const Plan& plan, const UserReference& said) {
  return std::make_shared<const FunctionReference>(irisgen::emit_reference(plan, read(plan)), said);
}

}  // namespace

std::shared_ptr<const Reference> reference_of(const Plan& plan) {
  if (!plan.functions.none()) return reference_of_functions(plan);
  if (!plan.user) return reference_of_pattern(plan.problem);
  const UserReference& said = plan.user->reference;
  if (said.none()) return nullptr;
  if (!said.files.empty()) return std::make_shared<const FileReference>(plan.user->folder, said);
  return compile(plan, said);
}

}  // namespace iris
