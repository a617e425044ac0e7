#pragma once

#include <nlohmann/json_fwd.hpp>

/// The tasks of questions.cpp. Each takes the whole question and gives the answer; its file says which fields they
/// have.
namespace iris::clang_library {

nlohmann::json answer_import_kernel(const nlohmann::json& question);
nlohmann::json answer_lint(const nlohmann::json& question);
nlohmann::json answer_locate(const nlohmann::json& question);
nlohmann::json answer_read_function(const nlohmann::json& question);
nlohmann::json answer_read_kernel(const nlohmann::json& question);
nlohmann::json answer_read_reference(const nlohmann::json& question);

}  // namespace iris::clang_library
