#pragma once

#include <string>

namespace iris {

/// 64 hexadecimal digits that nobody else can guess, and that no other process of any container has. Throws
/// std::runtime_error if the system has no random numbers.
std::string random_secret();

}  // namespace iris
