# A depfile's paths are those that this file writes, whatever the project's own policies are.
cmake_policy(SET CMP0116 NEW)

# irisgen_generate(TARGET app SPECS a.yaml… [TARGETS gfx942 sm_90a host…] [COMPILER name] [NAMESPACE app::kernels]
#                  [LICENSE "SPDX-License-Identifier: MIT"] [TUNING kernels.tuning.json] [DEVICE "NVIDIA H200"])
#
# At build time: writes the sources, typed launcher (NAME.hpp) and manifest of every kernel of the specifications,
# compiles them for the TARGETS (default: host) and builds the code into `app`, which may include "NAME.hpp" and is
# linked with irisgen::runtime. Made again when a specification or irisgen itself (with its templates and device
# headers) changes, or when a launcher is changed or removed by hand: the folder is the build's. COMPILER names one of
# `irisgen doctor`'s, where several can do a target. NAMESPACE is the launchers' (default: irisgen_kernels); LICENSE is
# the first line of every file that is written, as a comment. TUNING is a table of `irisgen tune --table`, for kernels of
# `variant: auto` (default: what comes with irisgen; a user's own table does not decide what is built). DEVICE is the GPU
# whose measurements in it are asked, as it calls them (default: the nearest of any GPU of the target).
#
# `app` must have been added in the same directory; sources may be added to it later. It is not built in unity files, which
# could not follow the kernels that one of their sources includes. For the same reason sources that include launchers are
# named, not given by generator expressions.
function(irisgen_generate)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TARGET;COMPILER;NAMESPACE;LICENSE;TUNING;DEVICE" "SPECS;TARGETS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "irisgen_generate: unexpected ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_TARGET OR NOT arg_SPECS)
    message(FATAL_ERROR "irisgen_generate needs TARGET and SPECS")
  endif()
  _irisgen_check_target(${arg_TARGET})
  get_target_property(home ${arg_TARGET} SOURCE_DIR)
  if(NOT home STREQUAL CMAKE_CURRENT_SOURCE_DIR)
    message(FATAL_ERROR "irisgen_generate must be called where ${arg_TARGET} is added: in ${home}")
  endif()
  if(NOT arg_TARGETS)
    set(arg_TARGETS host)
  endif()
  list(TRANSFORM arg_TARGETS PREPEND "--target=" OUTPUT_VARIABLE targets)
  set(compiler "")
  if(arg_COMPILER)
    set(compiler "--compiler=${arg_COMPILER}")
  endif()
  if(arg_LICENSE MATCHES "[\n;]")
    message(FATAL_ERROR "irisgen_generate: LICENSE is one line without ';'")
  endif()
  set(launchers "")
  if(arg_NAMESPACE)
    list(APPEND launchers "--namespace=${arg_NAMESPACE}")
  endif()
  if(arg_LICENSE)
    list(APPEND launchers "--license=${arg_LICENSE}")
  endif()
  set(tuning "")
  if(arg_TUNING)
    cmake_path(ABSOLUTE_PATH arg_TUNING NORMALIZE)
    set(tuning "--tuning=${arg_TUNING}")
  endif()
  if(arg_DEVICE)
    list(APPEND tuning "--device=${arg_DEVICE}")
  endif()
  # The program embeds templates and device headers; the Clang library is loaded by it, so CMake cannot know.
  set(tools irisgen::irisgen $<TARGET_FILE:irisgen::irisgen>)
  if(TARGET irisgen_clang)
    list(APPEND tools irisgen_clang)
  endif()

  get_target_property(before ${arg_TARGET} IRISGEN_EMBEDDINGS)  # of earlier calls
  set(embeddings "")
  if(before)
    set(embeddings ${before})
  endif()
  foreach(spec IN LISTS arg_SPECS)
    cmake_path(ABSOLUTE_PATH spec NORMALIZE)
    cmake_path(GET spec STEM LAST_ONLY stem)
    if(NOT stem MATCHES "^[.+-]*[A-Za-z0-9_][A-Za-z0-9_.+-]*$")
      message(FATAL_ERROR "irisgen_generate: a specification's name becomes a folder's and a file's: "
                          "write '${stem}' with letters, digits, '_', '.', '+' and '-' only, and not of the last three alone")
    endif()
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/${arg_TARGET}.irisgen/${stem}")
    set(embedding "${folder}/${stem}.kernels.cpp")
    if(embedding IN_LIST embeddings)
      message(FATAL_ERROR "irisgen_generate: two specifications of ${arg_TARGET} are named ${stem}; rename one")
    endif()
    add_custom_command(
      OUTPUT "${embedding}"
      COMMAND irisgen::irisgen generate "${spec}" ${targets} ${launchers} ${tuning} -o "${folder}" --force --quiet
      COMMAND irisgen::irisgen compile "${spec}" ${targets} ${compiler} ${launchers} ${tuning} -o "${folder}"
              --embed "${embedding}" --depfile "${embedding}.d" --quiet
      DEPENDS "${spec}" ${arg_TUNING} ${tools}
      DEPFILE "${embedding}.d"
      COMMENT "Generating the kernels of ${stem}"
      VERBATIM)
    target_sources(${arg_TARGET} PRIVATE "${embedding}")
    target_include_directories(${arg_TARGET} PRIVATE "${folder}")
    list(APPEND embeddings "${embedding}")
  endforeach()
  target_link_libraries(${arg_TARGET} PRIVATE irisgen::runtime)
  set_target_properties(${arg_TARGET} PROPERTIES IRISGEN_EMBEDDINGS "${embeddings}")
  if(NOT before)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL _irisgen_compile_after [[${arg_TARGET}]])")
  endif()
endfunction()

# In words, where CMake would speak of target_sources() or of a property.
function(_irisgen_check_target target)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "irisgen_generate: there is no target ${target}; call it after add_executable or add_library")
  endif()
  get_target_property(aliased ${target} ALIASED_TARGET)
  if(aliased)
    message(FATAL_ERROR "irisgen_generate: ${target} is an alias; write TARGET ${aliased}")
  endif()
  get_target_property(imported ${target} IMPORTED)
  get_target_property(type ${target} TYPE)
  if(imported OR NOT type MATCHES "^(EXECUTABLE|(STATIC|SHARED|MODULE|OBJECT)_LIBRARY)$")
    message(FATAL_ERROR "irisgen_generate: kernels are built into an executable or a library with sources of its own, "
                        "which ${target} is not")
  endif()
endfunction()

# Which launchers a source includes is known only once it is compiled, and the launchers' names only once the
# specification is read: so every source of the target waits for, and follows, its generated ones.
function(_irisgen_compile_after target)
  get_target_property(embeddings ${target} IRISGEN_EMBEDDINGS)
  get_target_property(sources ${target} SOURCES)
  list(REMOVE_ITEM sources ${embeddings})
  set_property(SOURCE ${sources} APPEND PROPERTY OBJECT_DEPENDS ${embeddings})
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)  # such a file follows nothing that its sources do
endfunction()
