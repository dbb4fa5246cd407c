#include "thalweg/dataset/journal/journal_moment.h"

#include <algorithm>

#include "thalweg/base/error.h"
#include "thalweg/storage/read_only.h"

namespace thalweg::dataset {
namespace {

// The first bytes of a file that grows.
class Beginning final : public storage::ReadOnly {
  public:
    Beginning(std::shared_ptr<storage::Storage const> file, std::uint64_t size_bytes)
        : file_(std::move(file)), size_bytes_(size_bytes) {}

    std::string const& path() const override { return file_->path(); }
    std::string engine() const override { return file_->engine(); }
    std::uint64_t size() const override { return std::min(size_bytes_, file_->size()); }
    void read(std::uint64_t offset, std::span<std::byte> bytes) const override { file_->read(offset, bytes); }

  private:
    std::shared_ptr<storage::Storage const> file_;
    std::uint64_t size_bytes_;
};

class SegmentsAt final : public SegmentFolder {
  public:
    SegmentsAt(std::shared_ptr<SegmentFolder> folder, JournalMoment const& moment)
        : folder_(std::move(folder)), moment_(moment) {}

    std::vector<std::uint32_t> list() const override {
        auto numbers = folder_->list();
        std::erase_if(numbers, [this](std::uint32_t number) { return number > moment_.last_segment; });
        return numbers;
    }
    std::shared_ptr<storage::Storage> open(std::uint32_t number) const override {
        auto file = folder_->open(number);
        if (!file || number != moment_.last_segment) return file;
        return std::make_shared<Beginning>(std::move(file), moment_.last_segment_end);
    }
    std::shared_ptr<storage::Storage> create(std::uint32_t) override { refuse(); }
    void remove(std::uint32_t) override { refuse(); }
    void sync() override { refuse(); }

  private:
    [[noreturn]] static void refuse() { base::fail_usage({"the journal of an earlier moment can be read only"}); }

    std::shared_ptr<SegmentFolder> folder_;
    JournalMoment moment_;
};

} // namespace

JournalFiles journal_at(JournalFiles const& journal, JournalMoment const& moment) {
    auto main = std::make_shared<Beginning>(journal.main, moment.main_end);
    if (!journal.segments) return {std::move(main)};
    return {std::move(main), std::make_shared<SegmentsAt>(journal.segments, moment)};
}

} // namespace thalweg::dataset
