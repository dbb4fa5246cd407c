#include "thalweg/dataset/journal/journal_segments.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "thalweg/base/error.h"
#include "thalweg/base/name_now.h"
#include "thalweg/dataset/journal/journal_format.h"
#include "thalweg/dataset/journal/journal_walk.h"

namespace thalweg::dataset {
namespace {

class FilesBeside final : public SegmentFolder {
  public:
    explicit FilesBeside(std::string journal_path)
        : journal_path_(std::move(journal_path)), folder_(base::hold_folder_of(journal_path_)) {}

    std::vector<std::uint32_t> list() const override {
        std::filesystem::path const journal(journal_now());
        auto const prefix = journal.filename().string() + ".";
        auto const folder = journal.has_parent_path() ? journal.parent_path() : std::filesystem::path(".");
        std::vector<std::uint32_t> numbers;
        for (auto const& name : base::list_directory(folder.string())) {
            if (!name.starts_with(prefix)) continue;
            std::uint32_t number = 0;
            auto const* const last = name.data() + name.size();
            auto const [stop, wrong] = std::from_chars(name.data() + prefix.size(), last, number);
            if (wrong == std::errc{} && stop == last && number > 0) numbers.push_back(number);
        }
        std::sort(numbers.begin(), numbers.end());
        return numbers;
    }

    std::shared_ptr<storage::Storage> create(std::uint32_t number) override {
        return storage::open_file_storage(path(number), storage::OpenMode::create_new, storage::Engine::posix);
    }

    std::shared_ptr<storage::Storage> open(std::uint32_t number) const override {
        try {
            return storage::open_file_storage(path(number), storage::OpenMode::read_only, storage::Engine::posix);
        } catch (base::SystemError const& error) {
            if (error.code == ENOENT) return nullptr;
            throw;
        }
    }

    void remove(std::uint32_t number) override { base::remove_file(path(number)); }

    void sync() override { base::sync_directory_of(journal_now()); }

  private:
    // The folder may have been renamed since the journal was begun: segments follow it.
    std::string journal_now() const {
        auto const folder = base::name_now(folder_);
        if (folder.empty()) return journal_path_;
        return (std::filesystem::path(folder) / std::filesystem::path(journal_path_).filename()).string();
    }
    std::string path(std::uint32_t number) const { return journal_now() + "." + std::to_string(number); }

    std::string journal_path_;
    base::FileDescriptor folder_;
};

} // namespace

std::shared_ptr<JournalStart const> JournalFiles::start() const {
    base::Lock const lock(known_->mutex);
    if (known_->start) return known_->start;
    auto start = std::make_shared<JournalStart const>(read_start(*main));
    if (start->kind == JournalKind::journal) known_->start = start;
    return start;
}

std::shared_ptr<JournalStart const> JournalFiles::required_start() const {
    auto start = this->start();
    check_start(*start, main->path());
    return start;
}

JournalFiles JournalFiles::without_segments() const {
    auto files = *this;
    files.segments = nullptr;
    return files;
}

std::shared_ptr<SegmentFolder> segments_beside(std::string const& journal_path) {
    return std::make_shared<FilesBeside>(journal_path);
}

SegmentKind segment_kind(JournalPreamble const& main, std::uint32_t number, storage::Storage const& segment,
                         JournalStart const& start) {
    bool const is_ours = start.kind == JournalKind::journal && start.preamble.segment == number &&
                         std::strcmp(start.preamble.run_id, main.run_id) == 0;
    if (is_ours) return SegmentKind::ours;
    return has_record(segment, kHeadOffset) ? SegmentKind::damaged : SegmentKind::empty;
}

// A segment goes when its rows are in pages of the main journal, or in a later segment. So a reader that finds the same
// ones before and behind opening them has all rows that no page had by then.
std::map<std::uint32_t, std::shared_ptr<storage::Storage>> open_segments(JournalFiles const& files) {
    std::map<std::uint32_t, std::shared_ptr<storage::Storage>> opened;
    if (!files.segments) return opened;
    for (auto numbers = files.segments->list();;) {
        opened.clear();
        for (auto const number : numbers) {
            if (auto segment = files.segments->open(number)) opened.emplace(number, std::move(segment));
        }
        auto again = files.segments->list();
        if (again == numbers && opened.size() == numbers.size()) return opened;
        numbers = std::move(again);
    }
}

} // namespace thalweg::dataset
