#include "thalweg/dataset/begin/metadata.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/base/utf8.h"

namespace thalweg::dataset {
namespace {

bool is_ours(std::string const& key) {
    static constexpr std::array<std::string_view, 4> kOurs = {kPreviousFile, kPreviousRun, kNextFile, kNextRun};
    return std::ranges::find(kOurs, key) != kOurs.end();
}

} // namespace

void check_given(std::string const& path, Metadata const& metadata) {
    for (auto const& [key, value] : metadata) {
        // A NUL character would end the sentence.
        auto const name = base::readable(key.substr(0, key.find('\0')));
        auto const refuse = [&](char const* why, char const* suggestion) {
            base::fail_usage({fmt::format("{}: the metadata '{}' cannot be kept", path, name), why, suggestion});
        };
        if (key.empty()) refuse("its key is empty", "give it a name");
        if (!base::is_whole_text(key)) refuse("its key is no UTF-8, or holds a NUL character", "choose another name");
        if (!base::is_whole_text(value))
            refuse("its text is no UTF-8, or holds a NUL character", "encode it, as base64 or JSON");
        if (is_ours(key)) refuse("files that continue each other have that key", "choose another name");
    }
}

} // namespace thalweg::dataset
