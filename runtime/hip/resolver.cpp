#include "runtime/hip/resolver.hpp"

#include <stdexcept>

namespace iris::hip {
namespace {

std::shared_ptr<const DynamicLibrary> open(std::span<const std::string> names, const std::string& remedy) {
  try {
    return std::make_shared<const DynamicLibrary>(DynamicLibrary::open_first(names));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(std::string(error.what()) + "; " + remedy);
  }
}

}  // namespace

void Resolver::throw_if_missing(const std::string& remedy) const {
  if (!missing_.empty()) throw std::runtime_error(name() + " lacks " + missing_ + "; " + remedy);
}

LoadedApi load_library(std::span<const std::string> names, const std::string& remedy,
                       const std::function<void(Resolver& library, Api& api)>& fill) {
  LoadedApi loaded;
  try {
    Api api;
    api.library = open(names, remedy);
    Resolver resolver(*api.library);
    fill(resolver, api);
    loaded.api = std::move(api);
  } catch (const std::runtime_error& error) {
    loaded.missing = error.what();
  }
  return loaded;
}

}  // namespace iris::hip
