// Text that comes out of files need not be text.
#pragma once

#include <string>
#include <string_view>

namespace thalweg::base {

// Bytes that are no UTF-8 are written as \xHH; everything else stays as it is.
std::string readable(std::string_view text);

bool is_utf8(std::string_view text);

// UTF-8 without a NUL character, at which HDF5 and C end a text.
bool is_whole_text(std::string_view text);

} // namespace thalweg::base
