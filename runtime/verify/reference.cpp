#include "iris/reference.hpp"

namespace iris {
namespace {

/// What a pattern's own row computes. Patterns write one argument.
class PatternReference final : public Reference {
 public:
  explicit PatternReference(const irisgen::Pattern& pattern) : pattern_(pattern) {}

  ExpectedOutputs expect(const Manifest& manifest, const Extents& extents, const Scalars&,
                         const std::vector<std::vector<irisgen::Values>>& inputs) const override {
    return {pattern_.reference(manifest.problem.at(extents), inputs)};
  }

 private:
  const irisgen::Pattern& pattern_;
};

}  // namespace

std::shared_ptr<const Reference> reference_of_pattern(const Problem& problem) {
  const irisgen::Pattern& pattern = irisgen::pattern_of(problem);
  return pattern.reference == nullptr ? nullptr : std::make_shared<const PatternReference>(pattern);
}

}  // namespace iris
