# thalweg_for_wheel(TARGET): what is in a wheel runs on older systems than the one that built it (`make wheel`).
if(THALWEG_WHEEL)
  # The linker leaves out what is not used, function by function (--gc-sections below).
  add_compile_options(-ffunction-sections -fdata-sections)
  # Of these only what is used: of OpenSSL, say, SHA-256, which is a few kilobytes.
  foreach(library crypto lz4 lzma)
    find_library(THALWEG_STATIC_${library} lib${library}.a REQUIRED)
    set_target_properties(PkgConfig::${library} PROPERTIES INTERFACE_LINK_LIBRARIES "${THALWEG_STATIC_${library}}")
  endforeach()
  add_library(thalweg_for_wheel OBJECT "${PROJECT_SOURCE_DIR}/cmake/wheel/condition_variable.cc")
endif()

function(thalweg_for_wheel target)
  if(THALWEG_WHEEL)
    target_link_libraries(${target} PRIVATE thalweg_for_wheel)
    target_link_options(${target} PRIVATE
      -Wl,--wrap=_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE -Wl,--exclude-libs,ALL -Wl,--gc-sections)
  endif()
endfunction()
