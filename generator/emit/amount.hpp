#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "iris/problem.hpp"

namespace irisgen {

/// A whole number as emitted code spells it: a product of a number that is known and of names that are not.
class Amount {
 public:
  Amount(std::int64_t known) : known_(known) {}  // NOLINT(google-explicit-constructor): a number is one
  /// `text` binds more tightly than a product, by parentheses around all of it if need be.
  static Amount named(std::string text);

  /// `33554432`, `2 * m * n`.
  std::string text() const;
  bool is_known() const { return unknown_.empty() || known_ == 0; }
  std::int64_t known() const { return known_; }

  friend Amount operator*(Amount a, const Amount& b);

 private:
  std::int64_t known_;
  std::vector<std::string> unknown_;
};

/// The sum, without terms that are 0: `2048 * rank + 16`.
std::string sum_text(const std::vector<Amount>& terms);

/// A dimension's length, dynamic extents in the spelling that they have there.
Amount amount_of(const iris::Dimension& dimension, const iris::Problem& problem,
                 const std::function<std::string(const std::string& extent)>& spelling);

}  // namespace irisgen
