#include "thalweg/dataset/complete/torn_beginning.h"

#include <algorithm>
#include <array>

#include "thalweg/dataset/complete/complete.h"
#include "thalweg/dataset/journal/journal.h"

namespace thalweg::dataset {
namespace {

// The first node wrote what the file begins with.
bool has_barrier(Journals const& journals) {
    bool found = false;
    read_journal(journals.front().without_segments(), [&](JournalRecord const& record) {
        found = record.type == RecordType::barrier;
        return !found;
    });
    return found;
}

// The file's first bytes are those that the run begins with, or zeros where these never got to the disk: so whatever
// has no mark of ours is not overwritten, even if it has got the number (inode) of a file that was removed.
bool may_be_torn(storage::Storage const& file, format::Format const& format, model::RunHead const& head) {
    auto const memory = storage::make_memory_storage(file.path());
    format.begin(*memory, head);
    std::array<std::byte, kLastWriteBytes> expected, found{};
    memory->read(0, expected);
    file.read(0, std::span(found).first(std::min<std::uint64_t>(file.size(), found.size())));
    return std::ranges::equal(found, expected,
                              [](std::byte is, std::byte should_be) { return is == should_be || is == std::byte{0}; });
}

// Until the first BARRIER a power cut may have taken what a run begins with, or a part of its mark; it follows from the
// head.
bool may_lack_its_beginning(UnfinishedRun const& run) {
    auto const id = run.format->run_id_of(*run.file);
    bool const is_cut_short = !id || (*id != run.head.id && run.head.id.starts_with(*id));
    return is_cut_short && !has_barrier(run.journals) && may_be_torn(*run.file, *run.format, run.head);
}

// The write that makes a file complete comes last, over the first sector of what the run begins with: a power cut may
// have left a part of each.
bool is_ours_behind_its_first_sector(UnfinishedRun const& run) {
    auto const image = storage::make_memory_storage(run.file->path());
    run.format->begin(*image, run.head);
    if (run.file->size() < image->size()) return false;
    std::vector<std::byte> bytes(image->size() - kLastWriteBytes);
    run.file->read(kLastWriteBytes, bytes);
    image->write(kLastWriteBytes, bytes);
    return run.format->run_id_of(*image) == run.head.id;
}

} // namespace

bool may_have_torn_beginning(UnfinishedRun const& run) {
    if (!run.is_original || run.format->run_id_of(*run.file) == run.head.id) return false;
    return may_lack_its_beginning(run) || is_ours_behind_its_first_sector(run);
}

void mend_torn_beginning(UnfinishedRun const& run) {
    if (run.format->run_id_of(*run.file) == run.head.id) return;
    auto const image = storage::make_memory_storage(run.file->path());
    run.format->begin(*image, run.head);
    std::array<std::byte, kLastWriteBytes> sector;
    image->read(0, sector);
    run.file->write(0, sector);
}

} // namespace thalweg::dataset
