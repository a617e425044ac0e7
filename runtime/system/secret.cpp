#include "runtime/system/secret.hpp"

#include <sys/random.h>

#include <array>
#include <stdexcept>

#include "generator/manifest/hash.hpp"

namespace iris {

std::string random_secret() {
  std::array<char, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw std::runtime_error("the system gives no random numbers");
  }
  return sha256_hex({bytes.data(), bytes.size()});
}

}  // namespace iris
