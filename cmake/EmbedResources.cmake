# Embeds files into a library as data, so that the program finds its templates wherever it is installed.
#
#   irisgen_embed_resources(TARGET)         when included: adds the generated table to TARGET
#   cmake -DROOT=… -DOUTPUT=… -DFILES=… -P  when run at build time: writes the table
#
# Raw string literals: a compiler reads them at once, where an array of numbers takes seconds.

if(CMAKE_SCRIPT_MODE_FILE)
  set(text "// Generated from schemas/, templates/ and device/. Do not edit.\n#include \"generator/language/resource_table.hpp\"\n\n")
  string(APPEND text "namespace irisgen {\nnamespace {\nusing namespace std::string_view_literals;  // their lengths need not be counted\n\nconstexpr Resource table[] = {\n")
  list(TRANSFORM FILES REPLACE "^device/include/(.*)$" "\\1|device/include/\\1" OUTPUT_VARIABLE named)  # as it is included
  list(SORT named)  # by these names, by which it is searched
  foreach(entry IN LISTS named)
    string(REGEX REPLACE "^.*[|]" "" path "${entry}")
    string(REGEX REPLACE "[|].*" "" name "${entry}")
    file(READ "${ROOT}/${path}" content)
    string(APPEND text "    {\"${name}\", R\"irisgen_file(${content})irisgen_file\"sv},\n")
  endforeach()
  string(APPEND text "};\n}  // namespace\n\n")
  string(APPEND text "std::span<const Resource> resource_table() { return table; }\n}  // namespace irisgen\n")
  file(WRITE "${OUTPUT}" "${text}")
  return()
endif()

set(IRISGEN_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")

# A glob, and only here: every template is a resource by being there, and a new one must not need a second mention.
function(irisgen_embed_resources target)
  file(GLOB_RECURSE files RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/schemas/*.json"
    "${PROJECT_SOURCE_DIR}/generator/plan/tuning/*.json"
    "${PROJECT_SOURCE_DIR}/templates/*.hip"
    "${PROJECT_SOURCE_DIR}/device/include/*.hpp")
  list(TRANSFORM files PREPEND "${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE inputs)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/resource_table.cpp")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DROOT=${PROJECT_SOURCE_DIR}" "-DOUTPUT=${output}" "-DFILES=${files}"
            -P "${IRISGEN_EMBED_SCRIPT}"
    DEPENDS ${inputs} "${IRISGEN_EMBED_SCRIPT}"
    COMMENT "Embedding schemas, tuning tables, templates and device headers"
    VERBATIM)
  # Resources change often, which is no reason to compile the rest of a unity build's translation unit.
  set_source_files_properties("${output}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE "${output}")
endfunction()
