# thalweg_plug_in(NAME LIBRARY...): a source for `thalweg record --source NAME`, a library like those of users
# (include/thalweg/source.h), from the .cc files of this folder and these libraries. It is in the package.
function(thalweg_plug_in name)
  set(target thalweg_plug_in_${name})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  add_library(${target} MODULE ${sources})
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/plug_ins")
  target_link_libraries(${target} PRIVATE ${ARGN})
  target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL -Wl,--gc-sections)
  if(NOT THALWEG_SANITIZE AND NOT THALWEG_FUZZ) # their functions come with the program
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
  thalweg_warnings(${target})
  thalweg_for_wheel(${target})
  install(TARGETS ${target} LIBRARY DESTINATION thalweg/plug_ins COMPONENT python)
  set_property(GLOBAL APPEND PROPERTY THALWEG_PLUG_INS ${target})
endfunction()
