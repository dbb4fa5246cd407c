#include "thalweg/checkpoint/verify.h"

#include <utility>

#include "thalweg/base/error.h"
#include "thalweg/checkpoint/head.h"
#include "thalweg/checkpoint/page_reader.h"
#include "thalweg/checkpoint/restore.h"

namespace thalweg::checkpoint {

std::optional<Verified> verify(std::string const& path, unsigned threads, std::function<void(double)> const& progress) {
    auto const file = storage::open_file_storage(path, storage::OpenMode::read_only);
    if (!is_checkpoint(*file)) return std::nullopt;
    Verified verified;
    try {
        State const state(path, from_bytes(read_record(*file), path), {}, threads);
        for (auto const& array : state.arrays()) verified.pieces += readings_of(array).size();
        verified.faults = state.find_damage(0, 1, progress);
    } catch (base::DataError const& error) {
        verified.faults.emplace_back(error.what());
    }
    return verified;
}

} // namespace thalweg::checkpoint
