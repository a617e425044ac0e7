#include "generator/emit/amount.hpp"

#include <utility>

namespace irisgen {

Amount Amount::named(std::string text) {
  Amount amount(1);
  amount.unknown_.push_back(std::move(text));
  return amount;
}

std::string Amount::text() const {
  if (is_known()) return std::to_string(known_);
  if (known_ == 1 && unknown_.size() == 1 && unknown_[0].starts_with('('))
    return unknown_[0].substr(1, unknown_[0].size() - 2);
  std::string text = known_ == 1 ? "" : std::to_string(known_);
  for (const std::string& name : unknown_) text += (text.empty() ? "" : " * ") + name;
  return text;
}

Amount operator*(Amount a, const Amount& b) {
  a.known_ *= b.known_;
  a.unknown_.insert(a.unknown_.end(), b.unknown_.begin(), b.unknown_.end());
  return a;
}

std::string sum_text(const std::vector<Amount>& terms) {
  std::string text;
  for (const Amount& term : terms) {
    if (term.is_known() && term.known() == 0) continue;
    text += (text.empty() ? "" : " + ") + term.text();
  }
  return text.empty() ? "0" : text;
}

Amount amount_of(const iris::Dimension& dimension, const iris::Problem& problem,
                 const std::function<std::string(const std::string& extent)>& spelling) {
  if (const auto known = iris::static_length(problem, dimension)) return *known;
  const auto& [extent, factor, divisor, offset, multiple] = dimension;
  const std::string name = spelling(extent);
  if (divisor == 1 && offset == 0 && multiple == 1) return Amount(factor) * Amount::named(name);
  std::string text = (Amount(factor) * Amount::named(name)).text();
  if (divisor != 1) text += " / " + std::to_string(divisor);
  if (offset != 0) text += (offset < 0 ? " - " : " + ") + std::to_string(offset < 0 ? -offset : offset);
  if (multiple != 1) {
    const std::string to = std::to_string(multiple);
    text = "(" + text + " + " + std::to_string(multiple - 1) + ") / " + to + " * " + to;
  }
  return Amount::named("(" + text + ")");
}

}  // namespace irisgen
