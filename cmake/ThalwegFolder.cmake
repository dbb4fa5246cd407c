# thalweg_folder(NAME [LIBRARIES ...]): one folder = one static library, from every .cc in it that is not of tests
# (ThalwegTests.cmake says which are). Sources are globbed, and what a folder links of our own stands in LAYERS.
# Files are compiled several at once (THALWEG_UNITY), so names in unnamed namespaces differ within the files of a
# library, and within the tests of a folder.

function(thalweg_read_layer name out)
  file(STRINGS "${PROJECT_SOURCE_DIR}/thalweg/LAYERS" lines REGEX "^${name}:")
  string(REGEX REPLACE "^[^:]*: *" "" uses "${lines}")
  separate_arguments(uses)
  set(${out} ${uses} PARENT_SCOPE)
endfunction()

# All folders, in the order of LAYERS: those with a CMakeLists.txt of their own link more than what LAYERS says.
function(thalweg_add_folders)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/thalweg/LAYERS")
  file(STRINGS "${PROJECT_SOURCE_DIR}/thalweg/LAYERS" lines REGEX "^[^#]")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE ":.*$" "" folder "${line}")
    if(EXISTS "${PROJECT_SOURCE_DIR}/thalweg/${folder}/CMakeLists.txt")
      add_subdirectory(${folder})
    else()
      thalweg_folder(${folder})
    endif()
  endforeach()
endfunction()

function(thalweg_target_name folder out)
  string(REPLACE "/" "_" name "${folder}")
  set(${out} "thalweg_${name}" PARENT_SCOPE)
endfunction()

function(thalweg_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wno-missing-field-initializers)
  if(THALWEG_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${THALWEG_SANITIZE} -fno-omit-frame-pointer -O1)
    target_link_options(${target} PUBLIC -fsanitize=${THALWEG_SANITIZE})
  endif()
endfunction()

# Compiles so many files of a target at once.
function(thalweg_compile_together target files)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${THALWEG_UNITY} UNITY_BUILD_BATCH_SIZE ${files})
  if(THALWEG_UNITY) # the warning of GCC is about headers, which these files are not
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

function(thalweg_folder folder)
  cmake_parse_arguments(ARG "" "" "LIBRARIES" ${ARGN})
  thalweg_target_name(${folder} target)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/thalweg/${folder}/*.cc")
  list(FILTER sources EXCLUDE REGEX "${THALWEG_OF_TESTS}")
  if(NOT sources) # a seam: headers only
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
      $<INSTALL_INTERFACE:include> $<INSTALL_INTERFACE:include/thalweg/internal>)
    set_property(GLOBAL APPEND PROPERTY THALWEG_TARGETS ${target})
    return()
  endif()
  add_library(${target} STATIC ${sources})
  thalweg_compile_together(${target} 16)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
      $<INSTALL_INTERFACE:include> $<INSTALL_INTERFACE:include/thalweg/internal>)
  target_link_libraries(${target} PUBLIC fmt::fmt Threads::Threads ${ARG_LIBRARIES})
  thalweg_read_layer(${folder} uses)
  foreach(used IN LISTS uses)
    thalweg_target_name(${used} used_target)
    target_link_libraries(${target} PUBLIC ${used_target})
  endforeach()
  thalweg_warnings(${target})
  if(THALWEG_FUZZ) # a fuzzer finds its way by the branches of the code it tests
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    target_link_options(${target} PUBLIC -fsanitize=fuzzer-no-link)
  endif()
  set_property(GLOBAL APPEND PROPERTY THALWEG_TARGETS ${target})
  thalweg_tests_of(${folder})
endfunction()
