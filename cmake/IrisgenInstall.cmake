# Installation: libraries, headers, the program, and the CMake package `irisgen` with irisgen::runtime (launching) and
# irisgen_generate(); its component `jit` brings irisgen::jit (compiling at run time), irisgen::verify (running and
# measuring) and irisgen::generator, its component `mpi` irisgen::mpi (joining over an MPI communicator).
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/irisgen")

if(IRISGEN_HOST)  # found again by irisgen-config.cmake; in the build tree it is known in runtime/host only
  set_property(TARGET irisgen_devices APPEND PROPERTY
    INTERFACE_LINK_LIBRARIES $<INSTALL_INTERFACE:$<LINK_ONLY:Boost::context>>)
endif()
# An export for each component, so that a program which only launches needs nothing that descriptions take to read, and
# no MPI.
install(
  TARGETS irisgen_manifest irisgen_system irisgen_devices irisgen_world irisgen_launch irisgen_runtime irisgen
  EXPORT irisgen_runtime)
install(
  TARGETS irisgen_language irisgen_plan irisgen_emit irisgen_generator irisgen_jit irisgen_verify
  EXPORT irisgen_jit)
install(TARGETS irisgen_mpi EXPORT irisgen_mpi)
if(TARGET irisgen_clang)
  install(TARGETS irisgen_clang LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/irisgen")
endif()

# What stands in a folder include/ is public, and nothing else is installed.
foreach(part IN ITEMS device generator runtime)
  install(DIRECTORY ${part}/include/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
endforeach()

install(EXPORT irisgen_runtime NAMESPACE irisgen:: FILE irisgen-runtime.cmake DESTINATION "${package_dir}")
install(EXPORT irisgen_jit NAMESPACE irisgen:: FILE irisgen-jit.cmake DESTINATION "${package_dir}")
install(EXPORT irisgen_mpi NAMESPACE irisgen:: FILE irisgen-mpi.cmake DESTINATION "${package_dir}")
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/irisgen-config.cmake.in" "${PROJECT_BINARY_DIR}/irisgen-config.cmake"
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/irisgen-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/irisgen-config.cmake"
  "${PROJECT_BINARY_DIR}/irisgen-config-version.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/IrisgenGenerate.cmake"
  DESTINATION "${package_dir}")
