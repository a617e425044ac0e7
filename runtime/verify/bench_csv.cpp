#include <array>
#include <charconv>
#include <string>

#include "iris/bench.hpp"

namespace iris {
namespace {

/// As RFC 4180 has it.
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

/// The shortest that reads back as the same.
std::string cell(double value) {
  std::array<char, 32> digits = {};
  const auto [end, problem] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), end};
}

std::string cell(std::int64_t value) {
  return std::to_string(value);
}

class Row {
 public:
  explicit Row(std::string& text) : text_(text) {}
  ~Row() { text_ += "\r\n"; }
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;

  template <typename Value>
  Row& add(const Value& value) {
    if (!first_) text_ += ",";
    first_ = false;
    text_ += cell(value);
    return *this;
  }

 private:
  std::string& text_;
  bool first_ = true;
};

}  // namespace

std::string bench_csv_header() {
  return "kernel,pattern,dtype,world,device,m,n,k,bytes,variant,grids,time_us,fastest_us,slowest_us,predicted_us,"
         "call_us,algorithm_gbs,bus_gbs,link_gbs,tflops,product_us,links_us,library,library_us,library_window_us,"
         "cold\r\n";
}

std::string bench_csv_rows(const BenchReport& report) {
  std::string text;
  for (const BenchPoint& point : report.points) {
    Row row(text);
    row.add(report.kernel).add(report.pattern).add(std::string(to_string(report.dtype)));
    row.add(std::int64_t{report.world}).add(report.device);
    for (const char* name : {"m", "n", "k"}) {
      const auto extent = point.extents.find(name);
      extent ? row.add(*extent) : row.add(std::string());
    }
    row.add(point.bytes).add(point.variant).add(point.grids);
    row.add(point.time_us).add(point.fastest_us).add(point.slowest_us).add(point.predicted_us).add(point.call_us);
    row.add(point.algorithm_gbs).add(point.bus_gbs).add(point.link_gbs).add(point.tflops);
    row.add(point.product_us).add(point.links_us);
    row.add(report.library).add(point.library.time_us).add(point.library.window_us);
    row.add(std::string(report.cold ? "true" : "false"));
  }
  return text;
}

}  // namespace iris
