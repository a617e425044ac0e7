#include "irisgen/diagnostic.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "generator/language/text_style.hpp"
#include "generator/language/unicode.hpp"

namespace irisgen {
namespace {

constexpr std::size_t max_kept = 1000;
constexpr std::size_t max_shown = 50;
constexpr std::size_t max_message = 1000;  // code points
constexpr int columns_around = 60;         // of a quoted line, on each side of the error
constexpr std::size_t max_word = 64;       // longer words are near to nothing

// Walks forward through the lines of a text, without their ends.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text), any_(!text.empty()) {}

  // Whether there is a text at all.
  bool any() const { return any_; }

  // The line of that number, 1-based; numbers must not decrease from call to call.
  std::string_view at(int number) {
    while (number_ < number && !rest_.empty()) {
      const std::size_t end = rest_.find('\n');
      line_ = rest_.substr(0, end);
      if (line_.ends_with('\r')) line_.remove_suffix(1);
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      ++number_;
    }
    return number_ == number ? line_ : std::string_view();
  }

 private:
  std::string_view rest_;
  bool any_;
  std::string_view line_;
  int number_ = 0;
};

// A line as shown, and what stands before the caret below it.
struct Quote {
  std::string line;
  std::string indent;
};

Quote quote(std::string_view line, int column) {
  Quote quote;
  const int first = column > columns_around ? column - columns_around : 1;
  if (first > 1) quote = {"…", " "};
  int at = 1;
  for (std::size_t offset = 0; offset < line.size(); ++at) {
    const CodePoint point = decode(line, offset);
    if (at >= first + 2 * columns_around) {
      quote.line += "…";
      break;
    }
    if (at >= first) {
      const bool tab = point.valid && point.value == '\t';
      const Glyph glyph = tab ? Glyph{"\t", 1} : glyph_of(line, offset, point);
      quote.line += glyph.text;
      // A tab below a tab keeps the caret in place whatever the width of tabs is.
      if (at < column) quote.indent += tab ? "\t" : std::string(static_cast<std::size_t>(glyph.columns), ' ');
    }
    offset += point.bytes;
  }
  return quote;
}

/// Below what it belongs to.
std::string render_detail(std::string_view detail) {
  std::string text;
  while (!detail.empty()) {
    const std::size_t end = detail.find('\n');
    text += "\n" + printable(detail.substr(0, end), max_message);
    detail.remove_prefix(end == std::string_view::npos ? detail.size() : end + 1);
  }
  return text;
}

std::string render_one(const std::string& file, const Diagnostic& diagnostic, Lines& lines, const TextStyle& style) {
  const auto [line, column] = diagnostic.where;
  std::string text(style.bold);
  text += diagnostic.where == world_option ? "--world" : printable(file, max_message);
  if (line > 0) text += ":" + std::to_string(line) + ":" + std::to_string(column);
  const bool error = diagnostic.severity == Severity::error;
  text.append(": ").append(style.plain).append(error ? style.error : style.bold).append(error ? "error:" : "note:");
  text.append(style.plain).append(" ");
  text += printable(diagnostic.message, max_message);
  if (line <= 0 || !lines.any()) return text + render_detail(diagnostic.detail);

  const Quote shown = quote(lines.at(line), column);
  std::string number = std::to_string(line);
  number.insert(0, 5 - std::min<std::size_t>(5, number.size()), ' ');
  text += "\n" + number + " | " + shown.line + "\n" + std::string(number.size(), ' ') + " | " + shown.indent;
  return text.append(style.mark).append("^").append(style.plain) + render_detail(diagnostic.detail);
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Damerau-Levenshtein distance (optimal string alignment), letters of either case and - and _ being equal.
int distance(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) { return lower(x) == lower(y) || (x == '-' && y == '_'); };
  using Row = std::array<int, max_word + 1>;
  Row before_last = {};
  Row last = {};
  Row row = {};
  std::iota(last.begin(), last.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replaced = last[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

Report::Report(std::string file, std::string text)
    : file_(std::move(file)), text_(without_byte_order_mark(std::move(text))) {}

void Report::add(Diagnostic diagnostic) {
  // What is shared by several kernels is looked at for each of them.
  const auto same = [&](const Diagnostic& other) {
    return other.where == diagnostic.where && other.message == diagnostic.message &&
           other.severity == diagnostic.severity;
  };
  if (std::ranges::any_of(diagnostics_, same)) return;
  ++count_;
  if (diagnostics_.size() < max_kept) diagnostics_.push_back(std::move(diagnostic));
}

bool Report::ok() const {
  return std::ranges::find(diagnostics_, Severity::error, &Diagnostic::severity) == diagnostics_.end();
}

bool Report::full() const {
  return diagnostics_.size() >= max_kept;
}

std::vector<const Diagnostic*> Report::by_place() const {
  std::vector<const Diagnostic*> sorted;
  sorted.reserve(diagnostics_.size());
  for (const Diagnostic& diagnostic : diagnostics_) sorted.push_back(&diagnostic);
  std::ranges::sort(sorted, {}, [](const Diagnostic* diagnostic) { return std::pair(diagnostic->where, diagnostic); });
  return sorted;
}

std::string Report::render(bool color) const {
  const std::vector<const Diagnostic*> sorted = by_place();
  Lines lines(text_);
  std::string text;
  for (std::size_t i = 0; i < std::min(max_shown, sorted.size()); ++i) {
    if (i > 0) text += "\n";
    text += render_one(file_, *sorted[i], lines, color ? ansi_style : no_style);
  }
  if (count_ > max_shown) text += "\nand " + std::to_string(count_ - max_shown) + " more errors";
  return text;
}

void Report::throw_if_any() const {
  if (!ok()) throw SpecError(*this);
}

SpecError::SpecError(Report report) : std::runtime_error(report.render()), report_(std::move(report)) {}

std::optional<std::string_view> nearest(std::string_view wrong, const std::vector<std::string_view>& words) {
  if (wrong.empty() || wrong.size() > max_word) return std::nullopt;
  std::optional<std::string_view> best;
  const int length = static_cast<int>(wrong.size());
  int best_distance = std::min(length, std::max(1, length / 3) + 1);  // a letter in common at least
  for (const std::string_view word : words) {
    if (word.size() > max_word) continue;
    const int candidate = distance(wrong, word);
    if (candidate < best_distance) {
      best = word;
      best_distance = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view wrong, const std::vector<std::string_view>& words) {
  if (const auto word = nearest(wrong, words)) return "; did you mean '" + std::string(*word) + "'?";
  if (words.empty()) return "";
  std::string text = "; one of: ";
  for (std::size_t i = 0; i < words.size(); ++i) text.append(i > 0 ? ", " : "").append(words[i]);
  return text;
}

}  // namespace irisgen
