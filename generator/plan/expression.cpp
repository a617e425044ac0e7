#include "generator/plan/expression.hpp"

#include <cctype>
#include <charconv>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "generator/language/unicode.hpp"
#include "irisgen/diagnostic.hpp"

namespace irisgen {
namespace {

using iris::Dimension;

constexpr std::int64_t largest = std::int64_t{1} << 40;
constexpr int deepest = 32;

[[noreturn]] void refuse(const std::string& sentence) {
  throw std::invalid_argument(sentence);
}

/// extent · factor / divisor + offset, the division being exact.
class Parser {
 public:
  Parser(std::string_view text, const iris::Problem& problem,
         const std::function<std::optional<std::int64_t>(std::string_view)>& number_of)
      : text_(text), problem_(problem), number_of_(number_of) {}

  Dimension parse() {
    const Dimension result = sum();
    if (at_ < text_.size()) refuse("unexpected '" + std::string(1, text_[at_]) + "' in " + in_quotes(text_));
    return result;
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool take(char symbol) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != symbol) return false;
    ++at_;
    skip_spaces();
    return true;
  }

  Dimension sum() {
    Dimension left = product();
    while (true) {
      if (take('+')) {
        left = add(left, product(), 1);
      } else if (take('-')) {
        left = add(left, product(), -1);
      } else {
        return left;
      }
    }
  }

  Dimension product() {
    Dimension left = primary();
    while (true) {
      if (take('*')) {
        left = multiply(left, primary());
      } else if (take('/')) {
        left = divide(left, primary());
      } else {
        return left;
      }
    }
  }

  Dimension primary() {
    if (take('(')) {
      if (++depth_ > deepest) refuse("too many parentheses in " + in_quotes(text_));
      const Dimension inner = sum();
      if (!take(')')) refuse("a ')' is missing in " + in_quotes(text_));
      --depth_;
      return inner;
    }
    skip_spaces();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    skip_spaces();
    if (word.empty()) refuse("a number or a name is missing in " + in_quotes(text_));
    return std::isdigit(static_cast<unsigned char>(word[0])) != 0 ? number(word) : named(word);
  }

  static Dimension number(std::string_view word) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value > largest)
      refuse("'" + std::string(word) + "' is not a whole number up to 2^40");
    return {.offset = value};
  }

  Dimension named(std::string_view word) const {
    if (problem_.has_extent(word)) return {.extent = std::string(word)};
    if (const auto value = number_of_(word)) return {.offset = *value};
    std::vector<std::string_view> names = {"world"};
    for (const iris::NamedExtent& extent : problem_.extents) names.push_back(extent.name);
    refuse("'" + std::string(word) + "' is neither an extent, nor world, nor one of the constants" +
           suggestion(word, names));
  }

  static std::int64_t checked(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (__builtin_mul_overflow(a, b, &result) || result > largest || result < -largest) refuse("a number over 2^40");
    return result;
  }

  Dimension add(const Dimension& a, const Dimension& b, std::int64_t sign) const {
    if (!a.extent.empty() && !b.extent.empty()) refuse_two(a, b);
    const Dimension& with = a.extent.empty() ? b : a;
    if (!with.extent.empty() && &with == &b && sign < 0) refuse("an extent cannot be subtracted");
    return {with.extent, with.factor, with.divisor, a.offset + sign * b.offset};
  }

  Dimension multiply(const Dimension& a, const Dimension& b) const {
    if (!a.extent.empty() && !b.extent.empty()) refuse_two(a, b);
    const Dimension& with = a.extent.empty() ? b : a;
    const std::int64_t by = a.extent.empty() ? a.offset : b.offset;
    if (with.extent.empty()) return {.offset = checked(a.offset, b.offset)};
    if (by < 1) refuse("an extent times " + std::to_string(by));
    const std::int64_t common = std::gcd(by, with.divisor);
    return {with.extent, checked(with.factor, by / common), with.divisor / common, checked(with.offset, by)};
  }

  static Dimension divide(const Dimension& a, const Dimension& b) {
    if (!b.extent.empty()) refuse("a division by an extent");
    if (b.offset < 1) refuse("a division by " + std::to_string(b.offset));
    if (a.offset % b.offset != 0)
      refuse(std::to_string(a.offset) + " / " + std::to_string(b.offset) + " is not a whole number");
    if (a.extent.empty()) return {.offset = a.offset / b.offset};
    const std::int64_t common = std::gcd(a.factor, b.offset);
    return {a.extent, a.factor / common, checked(a.divisor, b.offset / common), a.offset / b.offset};
  }

  [[noreturn]] static void refuse_two(const Dimension& a, const Dimension& b) {
    refuse("a dimension depends on one extent, not on " + a.extent + " and " + b.extent + "; write two dimensions");
  }

  std::string_view text_;
  const iris::Problem& problem_;
  const std::function<std::optional<std::int64_t>(std::string_view)>& number_of_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

iris::Dimension parse_dimension(std::string_view text, const iris::Problem& problem,
                                const std::function<std::optional<std::int64_t>(std::string_view name)>& number_of) {
  Dimension dimension = Parser(text, problem, number_of).parse();
  if (dimension.extent.empty() && dimension.offset < 0) refuse("a negative number of elements");
  return dimension;
}

}  // namespace irisgen
