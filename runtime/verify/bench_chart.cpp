#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "iris/bench.hpp"

namespace iris {
namespace {

constexpr double width = 460;
constexpr double height = 250;
constexpr double left = 56;  // of the plot within its panel
constexpr double right = 32;
constexpr double top = 52;
constexpr double bottom = 36;

// Numbers have a point whatever the program's locale is, which printf would ask.

/// As printf's %g.
std::string number(double value) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 6);
  return {text.data(), end};
}

std::string pixels(double value) {
  return number(std::round(10 * value) / 10);
}

std::string attribute(const std::string& name, double value) {
  return " " + name + "=\"" + pixels(value) + '"';
}

/// As text of an element.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) c == '&' ? out += "&amp;" : c == '<' ? out += "&lt;" : out += c;
  return out;
}

std::string label(double x, double y, const char* anchor, const std::string& text, const char* more = "") {
  return "<text" + attribute("x", x) + attribute("y", y) + " text-anchor=\"" + anchor + '"' + more + '>' +
         escaped(text) + "</text>\n";
}

std::string level_line(double from, double to, double y, const std::string& style) {
  return "<line" + attribute("x1", from) + attribute("x2", to) + attribute("y1", y) + attribute("y2", y) + ' ' + style +
         "/>\n";
}

/// Bytes of 1024, as far as they are round.
std::string bytes_text(double bytes) {
  const std::array<const char*, 4> units = {" B", " KiB", " MiB", " GiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  return number(bytes) + units.at(unit);
}

/// What is drawn, and how.
struct Line {
  std::string name;
  const char* style;
  double (*time_us)(const BenchPoint& point, double link_gbs);
};

std::vector<Line> lines_of(const BenchReport& report) {
  std::vector<Line> lines = {{"irisgen", "stroke=\"#0b7285\" stroke-width=\"2.2\"",
                              [](const BenchPoint& point, double) { return point.time_us; }}};
  if (!report.library.empty()) {
    lines.push_back({report.library, "stroke=\"#868e96\" stroke-width=\"1.4\"",
                     [](const BenchPoint& point, double) { return point.library.time_us; }});
    if (std::ranges::any_of(report.points, [](const BenchPoint& point) { return point.library.window_us > 0; })) {
      lines.push_back({report.library + ", windows", "stroke=\"#e67700\" stroke-width=\"1.4\"",
                       [](const BenchPoint& point, double) { return point.library.window_us; }});
    }
  }
  lines.push_back({"links", "stroke=\"#212529\" stroke-width=\"1\" stroke-dasharray=\"2 3\"",
                   [](const BenchPoint& point, double link_gbs) { return point.time_us * point.bus_gbs / link_gbs; }});
  return lines;
}

/// A plot at (x0, y0) of values from `lowest` to `highest` against size.
class Panel {
 public:
  Panel(const BenchReport& report, double x0, double y0) : report_(report), x0_(x0), y0_(y0) {
    const auto [least, most] = std::ranges::minmax(report.points, {}, &BenchPoint::bytes);
    first_ = std::log2(static_cast<double>(least.bytes));
    last_ = std::max(first_ + 1, std::log2(static_cast<double>(most.bytes)));
  }

  /// Times on a scale of powers of ten, or bandwidths from 0.
  std::string draw(bool times) {
    times_ = times;
    double highest = 0;
    double lowest = 1e300;
    for (const Line& line : lines_of(report_)) {
      for (const BenchPoint& point : report_.points) {
        const double value = value_of(line, point);
        if (value <= 0) continue;
        highest = std::max(highest, value);
        if (line.name != "links") lowest = std::min(lowest, value);
      }
    }
    low_ = times ? std::floor(std::log10(lowest)) : 0;
    high_ =
        times ? std::max(low_ + 1, std::ceil(std::log10(highest))) : std::max(100.0, std::ceil(highest / 100) * 100);
    return axes() + plots();
  }

 private:
  double value_of(const Line& line, const BenchPoint& point) const {
    const double time_us = line.time_us(point, report_.link_gbs);
    if (times_ || time_us <= 0) return time_us;
    return point.bus_gbs * point.time_us / time_us;
  }
  double x_of(double bytes) const {
    return x0_ + left + (std::log2(bytes) - first_) / (last_ - first_) * (width - left - right);
  }
  double y_of(double value) const {
    const double share = ((times_ ? std::log10(value) : value) - low_) / (high_ - low_);
    return y0_ + top + (1 - std::clamp(share, 0.0, 1.0)) * (height - top - bottom);
  }

  std::string axes() const {
    std::string out;
    const auto rule = [&](double value) {
      out += level_line(x0_ + left, x0_ + width - right, y_of(value), "stroke=\"#dee2e6\"");
      out += label(x0_ + left - 6, y_of(value) + 4, "end", number(value));
    };
    if (times_) {
      for (int power = static_cast<int>(low_); power <= static_cast<int>(high_); ++power) rule(std::pow(10, power));
    } else {
      const int step = high_ > 500 ? 200 : high_ > 100 ? 100 : 50;
      for (int value = 0; value <= static_cast<int>(high_); value += step) rule(value);
    }
    const int every = std::max(1, static_cast<int>(std::ceil((last_ - first_) / 6)));
    for (int power = static_cast<int>(std::ceil(first_)); power <= last_; power += every) {
      out += label(x_of(std::exp2(power)), y0_ + height - bottom + 18, "middle", bytes_text(std::exp2(power)));
    }
    return out + label(x0_ + left, y0_ + top - 8, "start", times_ ? "microseconds" : "bus GB/s");
  }

  std::string plots() const {
    std::string out;
    for (const Line& line : lines_of(report_)) {
      std::string points;
      for (const BenchPoint& point : report_.points) {
        const double value = value_of(line, point);
        if (value > 0 && (!times_ || std::log10(value) >= low_))
          points += pixels(x_of(static_cast<double>(point.bytes))) + ',' + pixels(y_of(value)) + ' ';
      }
      out += "<polyline fill=\"none\" " + std::string(line.style) + " points=\"" + points + "\"/>\n";
    }
    return out;
  }

  const BenchReport& report_;
  double x0_;
  double y0_;
  bool times_ = true;
  double first_ = 0;
  double last_ = 1;
  double low_ = 0;
  double high_ = 1;
};

std::string legend(const BenchReport& report, double y0) {
  const double after_name = left + 12 + 7.6 * static_cast<double>(report.kernel.size());
  std::string out = label(left, y0 + 20, "start", report.kernel, " font-weight=\"bold\"");
  out += label(after_name, y0 + 20, "start",
               report.pattern + " of " + std::string(to_string(report.dtype)) + ", " + std::to_string(report.world) +
                   " ranks on " + report.device);
  double x = width + 8;
  for (const Line& line : lines_of(report)) {
    out += level_line(x, x + 22, y0 + 16, line.style) + label(x + 27, y0 + 20, "start", line.name);
    x += 42 + 6.4 * static_cast<double>(line.name.size());
  }
  return out;
}

}  // namespace

std::string bench_chart(std::span<const BenchReport> reports) {
  std::string body;
  double y0 = 0;
  for (const BenchReport& report : reports) {
    const auto has_size = [](const BenchPoint& point) { return point.bytes > 0; };
    if (report.points.empty() || !std::ranges::all_of(report.points, has_size)) {
      throw std::invalid_argument(report.kernel + " has no sizes that a chart could show: it is no collective");
    }
    body += legend(report, y0) + Panel(report, 0, y0).draw(true) + Panel(report, width, y0).draw(false);
    y0 += height;
  }
  const std::string size = attribute("width", 2 * width) + attribute("height", y0);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\"" + size + " viewBox=\"0 0 " + pixels(2 * width) + ' ' + pixels(y0) +
         "\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#212529\">\n<rect" + size + " fill=\"#ffffff\"/>\n" +
         body + "</svg>\n";
}

}  // namespace iris
