#pragma once

#include <filesystem>
#include <vector>

#include "irisgen/tuning.hpp"

namespace iris {

/// Where this user's tuning table is: $IRISGEN_TUNING, else $XDG_CONFIG_HOME/irisgen/tuning.json, else
/// ~/.config/irisgen/tuning.json. Empty if none of these is set.
std::filesystem::path user_tuning_file();

/// The table of a file; an empty one if there is no such file. Throws irisgen::SpecError for a wrong one, and a
/// sentence if it cannot be read.
irisgen::TuningTable read_tuning(const std::filesystem::path& file);

/// Brings an entry into the table of a file, which is read anew and appears whole or not at all: several processes may
/// add to it. A search that ran out of time leaves the result of one that did not. Its folder is made if need be.
/// Throws as read_tuning does, and a sentence if it cannot be written.
void add_tuning(const std::filesystem::path& file, const irisgen::TuningEntry& entry);

/// The same with the rates of a machine.
void add_rates(const std::filesystem::path& file, const irisgen::MachineRates& machine);

/// The user's table, if it is there and within reach, then that which comes with irisgen: PlanOptions::tuning of those
/// who do not say otherwise. Throws as read_tuning does.
std::vector<irisgen::TuningTable> tuning_of_user();

}  // namespace iris
