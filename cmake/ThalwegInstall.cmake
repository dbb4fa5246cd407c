# thalweg_install(): what `find_package(thalweg)` and `pkg-config thalweg` find: the library `thalweg::thalweg`, which
# is all folders together, one library per folder (thalweg::dataset, thalweg::format_hdf5, ...), public headers, and all
# folders as a shared library (thalweg::shared, `pkg-config thalweg-shared`).
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# What users include. Headers that these include in turn are installed as <thalweg/internal/...>: they have to be there,
# and may change.
set(THALWEG_PUBLIC_HEADERS
  base/error.h
  base/near_miss.h
  checkpoint/restore.h
  checkpoint/save.h
  checkpoint/saving.h
  dataset/append/producer.h
  dataset/append/struct_producer.h
  dataset/append/work_unit.h
  dataset/complete/complete.h
  dataset/complete/recover.h
  dataset/complete/snapshot.h
  dataset/merge/merge.h
  dataset/read/follower.h
  dataset/read/reader.h
  dataset/read/verify.h
  dataset/run/attach.h
  dataset/run_reader.h
  dataset/shared_run.h
  dataset/writer.h
  derive/event_loop.h
  derive/events.h
  model/attributes.h
  model/schema.h
  ranks/communicator.h
  ranks/mpi_communicator.h # needs an MPI
  readout/builder/hook.h
  tuning/knobs.h)

# What pkg-config says of HDF5: the module of it, or the library itself.
function(thalweg_hdf5_for_pkg_config)
  if(THALWEG_HDF5_ROOT)
    set(THALWEG_PC_HDF5 "-L${THALWEG_HDF5_ROOT}/lib -lhdf5 -lz" PARENT_SCOPE)
  elseif(hdf5_serial_FOUND)
    set(THALWEG_PC_REQUIRES "${THALWEG_PC_REQUIRES} hdf5-serial" PARENT_SCOPE)
  else()
    string(REPLACE ";" " " libraries "${HDF5_C_LIBRARIES}")
    set(THALWEG_PC_HDF5 "${libraries}" PARENT_SCOPE)
  endif()
endfunction()

function(thalweg_install_pkg_config targets)
  set(THALWEG_PC_LIBRARIES "")
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      string(APPEND THALWEG_PC_LIBRARIES " -l${target}")
    endif()
  endforeach()
  set(THALWEG_PC_REQUIRES
    "fmt nlohmann_json liburing libzstd liblz4 liblzma libdeflate libxxhash hwloc libmicrohttpd libcrypto")
  thalweg_hdf5_for_pkg_config()
  file(RELATIVE_PATH THALWEG_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/") # it may be moved
  configure_file("${PROJECT_SOURCE_DIR}/cmake/thalweg.pc.in" "${PROJECT_BINARY_DIR}/thalweg.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/thalweg.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT cpp)
endfunction()

# thalweg_shared_library(TARGETS): libthalweg.so beside the static libraries, from the same objects: for programs that
# should stay small, and for languages that load libraries. A program links one or the other, never both.
function(thalweg_shared_library targets)
  if(NOT PROJECT_IS_TOP_LEVEL OR THALWEG_SANITIZE OR THALWEG_FUZZ OR THALWEG_WHEEL)
    return()
  endif()
  set(objects "")
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      list(APPEND objects $<TARGET_OBJECTS:${target}>)
    endif()
  endforeach()
  add_library(thalweg_shared SHARED ${objects})
  set_target_properties(thalweg_shared PROPERTIES OUTPUT_NAME thalweg EXPORT_NAME shared LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_link_libraries(thalweg_shared PRIVATE ${targets}) # for what they link of others; their objects are there
  target_link_libraries(thalweg_shared INTERFACE fmt::fmt Threads::Threads)
  target_include_directories(thalweg_shared INTERFACE
    $<INSTALL_INTERFACE:include> $<INSTALL_INTERFACE:include/thalweg/internal>)
  target_compile_features(thalweg_shared INTERFACE cxx_std_20)
  install(TARGETS thalweg_shared EXPORT thalweg-shared-targets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT cpp)
  # Of its own: a program that links the shared library needs none of the libraries that it stands on.
  install(EXPORT thalweg-shared-targets NAMESPACE thalweg::
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/thalweg" COMPONENT cpp)
  file(RELATIVE_PATH THALWEG_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/thalweg-shared.pc.in" "${PROJECT_BINARY_DIR}/thalweg-shared.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/thalweg-shared.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT cpp)
endfunction()

function(thalweg_install)
  get_property(targets GLOBAL PROPERTY THALWEG_TARGETS)
  add_library(thalweg INTERFACE)
  add_library(thalweg::thalweg ALIAS thalweg) # of who adds this project to his own
  target_link_libraries(thalweg INTERFACE ${targets})
  target_include_directories(thalweg INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
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
  install(CODE "set(public \"${THALWEG_PUBLIC_HEADERS}\")\nset(source \"${PROJECT_SOURCE_DIR}\")
    set(headers \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\")" COMPONENT cpp)
  install(SCRIPT "${PROJECT_SOURCE_DIR}/cmake/install_headers.cmake" COMPONENT cpp)
  thalweg_install_pkg_config("${targets}")
  thalweg_shared_library("${targets}")
endfunction()
