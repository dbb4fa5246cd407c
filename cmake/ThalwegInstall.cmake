# thalweg_install(): what `find_package(thalweg)` finds: the library `thalweg::thalweg`, which is all folders together,
# one library per folder (thalweg::dataset, thalweg::format_hdf5, ...), and their headers.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

function(thalweg_install)
  get_property(targets GLOBAL PROPERTY THALWEG_TARGETS)
  add_library(thalweg INTERFACE)
  target_link_libraries(thalweg INTERFACE ${targets})
  target_compile_features(thalweg INTERFACE cxx_std_20)
  foreach(target IN LISTS targets)
    string(REGEX REPLACE "^thalweg_" "" exported ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${exported})
  endforeach()

  set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/thalweg")
  set(config "${PROJECT_BINARY_DIR}/thalweg-config.cmake")
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/thalweg-config.cmake.in" "${config}"
    INSTALL_DESTINATION "${package_dir}")
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/thalweg-config-version.cmake" COMPATIBILITY SameMinorVersion)
  install(TARGETS thalweg ${targets} EXPORT thalweg-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT cpp)
  install(EXPORT thalweg-targets NAMESPACE thalweg:: DESTINATION "${package_dir}" COMPONENT cpp)
  install(FILES "${config}" "${PROJECT_BINARY_DIR}/thalweg-config-version.cmake"
    "${PROJECT_SOURCE_DIR}/cmake/ThalwegDependencies.cmake" DESTINATION "${package_dir}" COMPONENT cpp)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/thalweg" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT cpp
    FILES_MATCHING PATTERN "*.h" PATTERN "test_*.h" EXCLUDE PATTERN "testing.h" EXCLUDE)
endfunction()
