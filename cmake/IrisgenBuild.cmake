# Compiler settings of every target of the project, and find_package with a remedy.

set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(CCACHE ccache)
  if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  endif()
endif()

add_library(irisgen_settings INTERFACE)
target_compile_features(irisgen_settings INTERFACE cxx_std_20)
# Private headers are included by their path from the root, public ones as users include them.
target_include_directories(irisgen_settings INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/device/include)
target_compile_options(irisgen_settings INTERFACE -Wall -Wextra $<$<BOOL:${IRISGEN_WERROR}>:-Werror>)
# GCC 12 warns about overlapping copies inside std::string's operator+ where there are none (GCC bug 105651). clang-tidy
# reads the same options, and knows no such warning.
target_compile_options(irisgen_settings INTERFACE
  "$<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict;-Wno-unknown-warning-option>")
if(IRISGEN_SANITIZE)
  target_compile_options(irisgen_settings INTERFACE -fsanitize=${IRISGEN_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(irisgen_settings INTERFACE -fsanitize=${IRISGEN_SANITIZE})
endif()

# irisgen_find_package(NAME [VERSION] PACKAGE debian-package [COMPONENTS c…])
# find_package that, on failure, names the package to install.
macro(irisgen_find_package name)
  cmake_parse_arguments(wanted "" "PACKAGE" "COMPONENTS" ${ARGN})
  if(wanted_COMPONENTS)
    find_package(${name} ${wanted_UNPARSED_ARGUMENTS} COMPONENTS ${wanted_COMPONENTS} QUIET)
  else()
    find_package(${name} ${wanted_UNPARSED_ARGUMENTS} QUIET)
  endif()
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "irisgen needs ${name} ${wanted_UNPARSED_ARGUMENTS}: apt-get install ${wanted_PACKAGE}")
  endif()
endmacro()
