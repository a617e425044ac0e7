# Installation: libraries, headers, the program, and the CMake package `irisgen` with irisgen::runtime,
# irisgen::generator and irisgen_generate().
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/irisgen")

set_target_properties(irisgen_generator PROPERTIES EXPORT_NAME generator)
set_target_properties(irisgen_runtime PROPERTIES EXPORT_NAME runtime)
if(IRISGEN_HOST)  # found again by irisgen-config.cmake; in the build tree it is known in runtime/host only
  set_property(TARGET irisgen_runtime APPEND PROPERTY
    INTERFACE_LINK_LIBRARIES $<INSTALL_INTERFACE:$<LINK_ONLY:Boost::context>>)
endif()
install(TARGETS irisgen_generator irisgen_runtime irisgen EXPORT irisgen)
if(TARGET irisgen_clang)
  install(TARGETS irisgen_clang LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/irisgen")
endif()

# What stands in a folder include/ is public, and nothing else is installed.
foreach(part IN ITEMS device generator runtime)
  install(DIRECTORY ${part}/include/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
endforeach()

install(EXPORT irisgen NAMESPACE irisgen:: FILE irisgen-targets.cmake DESTINATION "${package_dir}")
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/irisgen-config.cmake.in" "${PROJECT_BINARY_DIR}/irisgen-config.cmake"
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/irisgen-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/irisgen-config.cmake"
  "${PROJECT_BINARY_DIR}/irisgen-config-version.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/IrisgenGenerate.cmake"
  DESTINATION "${package_dir}")
