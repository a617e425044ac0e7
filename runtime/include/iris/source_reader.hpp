#pragma once

#include <memory>

#include "iris/device.hpp"
#include "irisgen/source_reader.hpp"
#include "irisgen/spec.hpp"

namespace iris {

/// What reads kernels of the user's own on this machine: Clang, opened when it is asked first, in a library that needs
/// no GPU. Thread-safe; what has been read once is read again only where a file has changed.
std::shared_ptr<const irisgen::SourceReader> source_reader();

/// Gives the kernels of the user's own in a specification what reads them.
void attach_source_reader(irisgen::Spec& spec);

/// WorldOptions::locate for kernels that were compiled with line tables, as those of the user's own are: by Clang,
/// which is opened when there is something to report. What it cannot tell stays out of the report.
SourceLocator source_locator();

}  // namespace iris
