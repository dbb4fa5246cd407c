// Hints of MPI that `thalweg tune` tries. ROMIO reads a file of them and Open MPI reads variables, but what the program
// passes itself wins over both. THALWEG_TRIED_HINTS names them, as NAME=VALUE;NAME=VALUE.
#pragma once

#include "thalweg/interpose/real.h"

// Makes a copy of the program's hints in which those that are tried take the place of its own, and returns true; false:
// it has none of them, or none is tried. What it leaves open stays open. Ends the program if a hint that it has cannot
// be changed. Nothing here is collective.
bool put_hints_in(word info, void* caller, word* changed);
void take_hints_out(word changed, void* caller);
