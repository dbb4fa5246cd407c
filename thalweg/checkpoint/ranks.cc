#include "thalweg/checkpoint/ranks.h"

#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "thalweg/base/error.h"
#include "thalweg/base/utf8.h"

namespace thalweg::checkpoint {

Json said_path(std::string const& path) {
    return {base::readable(path), base::readable(std::filesystem::absolute(path).lexically_normal().string())};
}

void check_same_path(std::vector<Json> const& said) {
    for (std::size_t rank = 1; rank < said.size(); ++rank) {
        if (said[rank].at(0) == said[0].at(0) || said[rank].at(1) == said[0].at(1)) continue;
        base::fail_usage({fmt::format("ranks 0 and {} do not name the same file", rank),
                          fmt::format("{} and {}", said[0].at(0).dump(), said[rank].at(0).dump()),
                          "give the same path on all ranks"});
    }
}

} // namespace thalweg::checkpoint
