#include "generator/language/defaults.hpp"

namespace irisgen {
namespace {

void fill_in(Value& value, const Value& defaults) {
  auto* object = value.as<Object>();
  const auto* shared = defaults.as<Object>();
  if (!object || !shared) return;
  for (const Member& member : *shared) {
    if (Value* own = value.find(member.key)) {
      fill_in(*own, member.value);
    } else {
      object->push_back(member);
    }
  }
}

}  // namespace

void apply_defaults(Value& root) {
  const Value* defaults = root.find("defaults");
  Value* kernels = root.find("kernels");
  auto* list = kernels ? kernels->as<Array>() : nullptr;
  if (!defaults || !list) return;
  for (Value& kernel : *list) fill_in(kernel, *defaults);
}

}  // namespace irisgen
