// Says on stderr what no caller hears otherwise.
#pragma once

#include <string_view>

namespace thalweg::base {

// Writes "thalweg: ", the text and an end of line. stderr may be a closed terminal, or a pipe without a reader: what
// cannot be said there is no error.
void say(std::string_view text);

} // namespace thalweg::base
