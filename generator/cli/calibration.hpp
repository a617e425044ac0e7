#pragma once

#include <filesystem>
#include <string>

#include "generator/cli/program.hpp"

namespace irisgen::cli {

/// `irisgen bench --calibrate`.
struct CalibrationCommand {
  std::string target;  ///< empty: that of the first GPU
  int world = 0;       ///< 0: as many ranks as GPUs
  int batches = 0;
  std::filesystem::path table;  ///< to write to; empty: the user's
  bool json = false;
};

/// Measures the rates of this machine, shows them beside those that come with irisgen, and writes them.
ExitCode calibrate(const CalibrationCommand& command);

}  // namespace irisgen::cli
