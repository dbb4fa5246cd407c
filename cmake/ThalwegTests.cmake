# thalweg_tests_of(FOLDER): what stands in a folder of thalweg/ beside the files of its library.
#   *.test.cc   tests (GoogleTest): one program a folder, thalweg_FOLDER_test
#   *.bench.cc  benchmarks (Google Benchmark): one program a folder, thalweg_FOLDER_bench
#   *.fuzz.cc   fuzz targets (libFuzzer): one program a file
#   test_*.cc   code that only these link, in this folder and above it: a library of its own, thalweg_FOLDER_testing
# All of them may use the folder above, too: tests of dataset/run create whole runs with dataset.
set(THALWEG_OF_TESTS "(\\.(test|bench|fuzz)\\.cc|/test_[^/]*\\.cc)$")
add_library(thalweg_costly_assertions OBJECT EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/tests/costly_assertions.cc")
target_include_directories(thalweg_costly_assertions PRIVATE "${PROJECT_SOURCE_DIR}")

# A program that tests: it checks the costly assertions, and links what only tests link.
function(thalweg_test_program target)
  target_link_libraries(${target} PRIVATE thalweg_costly_assertions)
  set_target_properties(${target} PROPERTIES THALWEG_LINKS_TESTING ON)
  thalweg_warnings(${target})
endfunction()

function(thalweg_libraries_of_tests folder out)
  thalweg_target_name(${folder} libraries)
  get_filename_component(above "${folder}" DIRECTORY)
  if(above)
    thalweg_target_name(${above} above_target)
    list(APPEND libraries ${above_target})
  endif()
  set(${out} ${libraries} PARENT_SCOPE)
endfunction()

function(thalweg_tests_of folder)
  thalweg_target_name(${folder} target)
  thalweg_libraries_of_tests(${folder} libraries)
  set(directory "${PROJECT_SOURCE_DIR}/thalweg/${folder}")
  file(GLOB testing CONFIGURE_DEPENDS "${directory}/test_*.cc")
  list(FILTER testing EXCLUDE REGEX "\\.test\\.cc$")
  if(testing)
    add_library(${target}_testing STATIC EXCLUDE_FROM_ALL ${testing})
    target_link_libraries(${target}_testing PUBLIC ${target})
    thalweg_warnings(${target}_testing)
    # The property is that of the program which links.
    target_link_libraries(${target} INTERFACE
      $<BUILD_INTERFACE:$<$<BOOL:$<TARGET_PROPERTY:THALWEG_LINKS_TESTING>>:${target}_testing>>)
  endif()
  file(GLOB tests CONFIGURE_DEPENDS "${directory}/*.test.cc")
  if(THALWEG_TESTS AND tests)
    thalweg_add_tests("${folder}" ${target}_test "${tests}" "${libraries}")
  endif()
  file(GLOB benches CONFIGURE_DEPENDS "${directory}/*.bench.cc")
  if(THALWEG_BENCH AND benches)
    find_package(benchmark REQUIRED)
    add_executable(${target}_bench ${benches})
    target_link_libraries(${target}_bench PRIVATE ${libraries} benchmark::benchmark_main)
    thalweg_warnings(${target}_bench)
  endif()
  file(GLOB fuzzers CONFIGURE_DEPENDS "${directory}/*.fuzz.cc")
  if(THALWEG_FUZZ)
    foreach(fuzzer IN LISTS fuzzers)
      thalweg_add_fuzzer(${target} "${fuzzer}" "${libraries}")
    endforeach()
  endif()
endfunction()

function(thalweg_add_tests folder target tests libraries)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  add_executable(${target} ${tests})
  target_link_libraries(${target} PRIVATE ${libraries} GTest::gtest_main)
  target_compile_options(${target} PRIVATE -O1) # what they test is compiled with all optimisations
  thalweg_test_program(${target})
  gtest_discover_tests(${target} TEST_PREFIX "${folder}." DISCOVERY_TIMEOUT 60)
  # Building the tests of a whole builds those of its parts that stand above it in LAYERS.
  get_filename_component(above "${folder}" DIRECTORY)
  if(above)
    thalweg_target_name(${above} above_target)
    set_property(GLOBAL APPEND PROPERTY THALWEG_TESTS_BELOW_${above_target}_test ${target})
  endif()
  get_property(parts GLOBAL PROPERTY THALWEG_TESTS_BELOW_${target})
  if(parts)
    add_dependencies(${target} ${parts})
  endif()
endfunction()

# The tests of a folder read files that others wrote and that lie beside the project; the environment variable
# THALWEG_DATA comes first.
function(thalweg_tests_read_data folder)
  thalweg_target_name(${folder} target)
  if(TARGET ${target}_test)
    target_compile_definitions(${target}_test PRIVATE THALWEG_TEST_DATA="${PROJECT_SOURCE_DIR}/../shared/data")
  endif()
endfunction()

function(thalweg_add_fuzzer folder_target fuzzer libraries)
  get_filename_component(name "${fuzzer}" NAME_WE)
  set(target ${folder_target}_${name}_fuzz)
  add_executable(${target} "${fuzzer}")
  target_link_libraries(${target} PRIVATE ${libraries})
  # The target, too: where its first bytes lead to is all that an empty corpus has to go by.
  target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzzers" OUTPUT_NAME "${name}")
  if(NOT TARGET thalweg_fuzzers)
    add_custom_target(thalweg_fuzzers)
  endif()
  add_dependencies(thalweg_fuzzers ${target})
endfunction()
