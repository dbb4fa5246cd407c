#include "thalweg/base/say.h"

#include <cstdio>
#include <fmt/format.h>

namespace thalweg::base {

void say(std::string_view text) {
    auto const line = fmt::format("thalweg: {}\n", text);
    static_cast<void>(std::fwrite(line.data(), 1, line.size(), stderr));
}

} // namespace thalweg::base
