// Fuzz target of spec reading: any bytes are either a Spec or a SpecError, never anything else. Of a Spec, the
// canonical JSON of each kernel is an entry of `kernels:` that reads back as the same kernel.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "irisgen/spec.hpp"

namespace {

[[noreturn]] void fail(const std::string& what, const std::string& json) {
  std::fprintf(stderr, "%s:\n%s\n", what.c_str(), json.c_str());
  std::abort();
}

void check_round_trip(const irisgen::KernelSpec& kernel, int world) {
  const std::string json = irisgen::canonical_json(kernel, world);
  try {
    const irisgen::Spec again = irisgen::parse_spec("again.json", R"({"irisgen": 1, "kernels": [)" + json + "]}");
    if (irisgen::canonical_json(again.kernels.at(0), world) != json) fail("reads back as another kernel", json);
  } catch (const irisgen::SpecError& error) {
    fail(error.what(), json);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const irisgen::Spec spec = irisgen::parse_spec("fuzz.yaml", std::string(data, data + size));
    for (const irisgen::KernelSpec& kernel : spec.kernels) {
      for (const int world : kernel.worlds) check_round_trip(kernel, world);
    }
  } catch (const irisgen::SpecError& error) {
    if (error.report().ok()) std::abort();
    error.report().render(true);
  }
  return 0;
}
