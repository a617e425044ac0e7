#include "runtime/verify/reference_of_functions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "generator/plan/reference.hpp"
#include "iris/values.hpp"
#include "irisgen/pattern.hpp"
#include "irisgen/source.hpp"
#include "runtime/verify/compiled_reference.hpp"

namespace iris {
namespace {

using irisgen::Expectation;
using irisgen::FunctionRole;
using irisgen::Plan;
using irisgen::UserFunction;
using irisgen::Values;
using RankValues = std::vector<Values>;

/// By how much a function of the user's own may be off where its values are exact.
struct Errors {
  double relative = 0;
  double absolute = 0;

  Errors(const std::optional<UserFunction>& function, Dtype accumulate) {
    if (!function || accumulate == Dtype::i32) return;
    relative = function->relative.value_or(accumulate == Dtype::f64 ? 1e-13 : 1e-5);
    absolute = function->absolute.value_or(accumulate == Dtype::f64 ? 1e-14 : 1e-6);
  }
  double of(double value) const { return absolute + relative * std::abs(value); }
};

class ReferenceOfFunctions final : public Reference {
 public:
  explicit ReferenceOfFunctions(const Plan& plan)
      : name_(plan.name),
        functions_(plan.functions),
        accumulate_(plan.problem.accumulate),
        compiled_(irisgen::emit_functions(plan)) {
    for (const irisgen::FunctionPlan& function : plan.function_plans) buffers_ += function.arguments.size();
  }

  ExpectedOutputs expect(const Manifest& manifest, const Extents& extents, const Scalars&,
                         const std::vector<RankValues>& inputs) const override {
    const Problem problem = manifest.problem.at(extents);
    std::vector<RankValues> own = inputs;  // the pattern's
    std::vector<RankValues> buffers(inputs.size());
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      const auto first = own[rank].end() - static_cast<std::ptrdiff_t>(buffers_);
      buffers[rank].assign(first, own[rank].end());
      own[rank].erase(first, own[rank].end());
      if (functions_.prologue) own[rank][0] = call(FunctionRole::prologue, own[rank][0]);
    }
    std::vector<Expectation> values = functions_.operation ? reduce(problem, own) : of_pattern(problem, own);
    if (functions_.epilogue) {
      for (std::size_t rank = 0; rank < values.size(); ++rank)
        values[rank] = finish(values[rank], problem.extent("n").value, buffers[rank]);
    }
    if (functions_.epilogue || functions_.operation || !multiplies(problem)) {
      for (Expectation& of_rank : values) of_rank = rounded(of_rank, problem.result);
    }
    return {std::move(values)};
  }

 private:
  using Function = void(long long role, long long count, long long columns, const double* a, const double* b,
                        const double* const* buffers, double* results);

  Values call(FunctionRole role, const Values& a, const Values& b = {}, std::int64_t columns = 1,
              const RankValues& buffers = {}) const {
    std::vector<const double*> pointers;
    pointers.reserve(buffers.size());
    for (const Values& buffer : buffers) pointers.push_back(buffer.data());
    Values results(a.size());
    compiled_.function<Function>()(static_cast<long long>(role), std::ssize(a), std::max<std::int64_t>(columns, 1),
                                   a.data(), b.data(), pointers.data(), results.data());
    return results;
  }

  static bool multiplies(const Problem& problem) { return irisgen::pattern_of(problem).product != nullptr; }

  /// What the pattern makes, before an epilogue; rounded, if it multiplies and has none.
  std::vector<Expectation> of_pattern(Problem problem, const std::vector<RankValues>& inputs) const {
    const irisgen::Pattern& pattern = irisgen::pattern_of(problem);
    const bool is_rounded = multiplies(problem) && !functions_.epilogue;
    if (!is_rounded && !pattern.rounds_partials) problem.result = problem.accumulate;
    if (!functions_.prologue) return pattern.reference(problem, inputs);
    return multiplies(problem) ? of_product(problem, inputs) : of_elements(problem, inputs);
  }

  /// Of a collective. Sums, maxima and minima lie between those of elements as far off as a prologue may be in either
  /// direction; products of numbers are off by no more than those of their magnitudes.
  std::vector<Expectation> of_elements(const Problem& problem, const std::vector<RankValues>& inputs) const {
    const irisgen::Pattern& pattern = irisgen::pattern_of(problem);
    const Errors errors(functions_.prologue, accumulate_);
    const bool by_magnitudes = problem.op == irisgen::Op::prod;
    const auto shifted = [&](double side) {
      std::vector<RankValues> all = inputs;
      for (RankValues& of_rank : all) {
        for (double& value : of_rank[0]) {
          if (by_magnitudes) value = std::abs(value);
          if (std::isfinite(value)) value += side * errors.of(value);
        }
      }
      return pattern.reference(problem, all);
    };
    std::vector<Expectation> values = pattern.reference(problem, inputs);
    const std::vector<Expectation> low = shifted(by_magnitudes ? 0 : -1);
    const std::vector<Expectation>& middle = by_magnitudes ? low : values;
    const std::vector<Expectation> high = shifted(1);
    for (std::size_t rank = 0; rank < values.size(); ++rank) {
      for (std::size_t i = 0; i < values[rank].tolerance.size(); ++i) {
        const double exact = middle[rank].value[i];
        values[rank].tolerance[i] +=
            std::max(distance(low[rank].value[i], exact), distance(high[rank].value[i], exact));
      }
    }
    return values;
  }

  /// Of a product whose A is rounded to its type behind the prologue. What that may be off by changes to which of two
  /// neighbours an element is rounded, and then each of its products by |difference|·|b|.
  std::vector<Expectation> of_product(const Problem& problem, std::vector<RankValues> inputs) const {
    const Errors errors(functions_.prologue, accumulate_);
    std::vector<RankValues> differences = inputs;
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      for (Values& of_argument : differences[rank]) {
        for (double& value : of_argument) value = std::abs(value);
      }
      for (std::size_t i = 0; i < inputs[rank][0].size(); ++i) {
        double& element = inputs[rank][0][i];
        const double error = std::isfinite(element) ? errors.of(element) : 0;
        const double rounded = round_to(element, problem.dtype);
        differences[rank][0][i] = std::max(distance(round_to(element - error, problem.dtype), rounded),
                                           distance(round_to(element + error, problem.dtype), rounded));
        element = rounded;
      }
    }
    const irisgen::Pattern& pattern = irisgen::pattern_of(problem);
    std::vector<Expectation> values = pattern.reference(problem, inputs);
    const std::vector<Expectation> more = pattern.reference(problem, differences);
    for (std::size_t rank = 0; rank < values.size(); ++rank) {
      for (std::size_t i = 0; i < values[rank].tolerance.size(); ++i)
        values[rank].tolerance[i] += more[rank].value[i] + more[rank].tolerance[i];
    }
    return values;
  }

  /// In the order of ranks, by the user's own operation. Which elements a rank gets of it follows from how many.
  std::vector<Expectation> reduce(const Problem& problem, const std::vector<RankValues>& inputs) const {
    Values total = inputs[0][0];
    Values error(total.size());
    const Errors of_operation(functions_.operation, accumulate_);
    const Errors of_prologue(functions_.prologue, accumulate_);
    for (std::size_t i = 0; i < total.size(); ++i) error[i] = of_prologue.of(total[i]);
    for (std::size_t rank = 1; rank < inputs.size(); ++rank) {
      const Values& next = inputs[rank][0];
      const Values sum = call(FunctionRole::operation, total, next);
      const auto shifted = [&](double side_a, double side_b) {
        Values a = total;
        Values b = next;
        for (std::size_t i = 0; i < a.size(); ++i) {
          a[i] += side_a * error[i];
          b[i] += side_b * of_prologue.of(b[i]);
        }
        return call(FunctionRole::operation, a, b);
      };
      const std::array<Values, 4> around = {shifted(1, 1), shifted(1, -1), shifted(-1, 1), shifted(-1, -1)};
      for (std::size_t i = 0; i < sum.size(); ++i) {
        double worst = 0;
        for (const Values& one : around) worst = std::max(worst, distance(one[i], sum[i]));
        error[i] = worst + of_operation.of(sum[i]);
      }
      total = sum;
    }
    check_identity(total, inputs.size());
    const bool is_whole = irisgen::pattern_of(problem).replicates;
    const std::size_t count = is_whole ? total.size() : total.size() / inputs.size();
    std::vector<Expectation> values;
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      const auto first = static_cast<std::ptrdiff_t>(is_whole ? 0 : rank * count);
      const auto last = first + static_cast<std::ptrdiff_t>(count);
      values.push_back({{total.begin() + first, total.begin() + last}, {error.begin() + first, error.begin() + last}});
    }
    return values;
  }

  /// Of NaN and infinities 0 if they are the same.
  static double distance(double a, double b) {
    if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
    const double result = std::abs(a - b);
    return std::isnan(result) ? std::numeric_limits<double>::infinity() : result;
  }

  /// Empty for what has been made without a description.
  static std::string words_of(const irisgen::Position& where) {
    if (where.line == 0) return "";
    return ", as line " + std::to_string(where.line) + ", column " + std::to_string(where.column) +
           " of the description has it";
  }

  /// The identity changes nothing of what the operation gives.
  void check_identity(const Values& reduced, std::size_t ranks) const {
    if (ranks < 2) return;  // nothing was reduced
    const UserFunction& operation = functions_.operation.value();
    const double identity = operation.identity;
    const Errors errors(functions_.operation, accumulate_);
    const Values same = call(FunctionRole::operation, Values(reduced.size(), identity), reduced);
    for (std::size_t i = 0; i < reduced.size(); ++i) {
      if (distance(same[i], reduced[i]) <= 2 * errors.of(reduced[i])) continue;
      throw std::runtime_error(name_ + ": " + operation.function + "(" + std::to_string(identity) + ", " +
                               std::to_string(reduced[i]) + ") is " + std::to_string(same[i]) + ", so " +
                               std::to_string(identity) + " is not the identity of the operation" +
                               words_of(operation.where_identity) + "; change one of them");
    }
  }

  /// After the epilogue, in the accumulator's type.
  Expectation finish(const Expectation& values, std::int64_t columns, const RankValues& buffers) const {
    const Errors errors(functions_.epilogue, accumulate_);
    Values low = values.value;
    Values high = values.value;
    for (std::size_t i = 0; i < low.size(); ++i) {
      low[i] -= values.tolerance[i];
      high[i] += values.tolerance[i];
    }
    Expectation result{call(FunctionRole::epilogue, values.value, {}, columns, buffers), Values(low.size())};
    const Values of_low = call(FunctionRole::epilogue, low, {}, columns, buffers);
    const Values of_high = call(FunctionRole::epilogue, high, {}, columns, buffers);
    for (std::size_t i = 0; i < low.size(); ++i) {
      const double exact = result.value[i];
      result.tolerance[i] = std::max(distance(of_low[i], exact), distance(of_high[i], exact)) + errors.of(exact);
    }
    return result;
  }

  static Expectation rounded(const Expectation& values, Dtype result) {
    Expectation expectation;
    for (std::size_t i = 0; i < values.value.size(); ++i)
      irisgen::expect(expectation, result, values.value[i], values.tolerance[i]);
    return expectation;
  }

  std::string name_;
  irisgen::UserFunctions functions_;
  Dtype accumulate_;
  CompiledReference compiled_;
  std::size_t buffers_ = 0;
};

}  // namespace

std::shared_ptr<const Reference> reference_of_functions(const Plan& plan) {
  return std::make_shared<const ReferenceOfFunctions>(plan);
}

}  // namespace iris
