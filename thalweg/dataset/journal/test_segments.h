// For tests: later segments of a journal in memory, on a disk that is sound or fails by plan.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <vector>

#include "thalweg/base/error.h"
#include "thalweg/dataset/journal/journal_segments.h"
#include "thalweg/storage/test_faulty.h"

namespace thalweg::dataset::testing {

class MemorySegments final : public SegmentFolder {
  public:
    std::vector<std::uint32_t> list() const override {
        base::Lock const lock(mutex_);
        std::vector<std::uint32_t> numbers;
        for (auto const& [number, file] : files_) numbers.push_back(number);
        return numbers;
    }
    std::shared_ptr<storage::Storage> create(std::uint32_t number) override {
        base::Lock const lock(mutex_);
        most_ = std::max(most_, number);
        return files_[number] = storage::make_memory_storage("run.journal." + std::to_string(number));
    }
    std::shared_ptr<storage::Storage> open(std::uint32_t number) const override {
        base::Lock const lock(mutex_);
        auto const found = files_.find(number);
        return found == files_.end() ? nullptr : found->second;
    }
    void remove(std::uint32_t number) override {
        base::Lock const lock(mutex_);
        files_.erase(number);
    }
    void sync() override {}

    std::uint32_t created() const { return most_; }

  private:
    mutable base::Mutex mutex_;
    std::map<std::uint32_t, std::shared_ptr<storage::Storage>> files_;
    std::uint32_t most_ = 0;
};

inline std::shared_ptr<storage::Storage> copy_of_storage(storage::Storage const& from) {
    std::shared_ptr<storage::Storage> to = storage::make_memory_storage(from.path());
    storage::copy_storage(from, *to);
    return to;
}

inline JournalFiles copy_of_journal(JournalFiles const& from) {
    JournalFiles to(copy_of_storage(*from.main), std::make_shared<MemorySegments>());
    for (auto const& [number, file] : open_segments(from)) storage::copy_storage(*file, *to.segments->create(number));
    return to;
}

// Names are durable once the folder is synced; until then a power cut may have kept or taken each change.
class FaultySegments final : public SegmentFolder {
  public:
    explicit FaultySegments(std::shared_ptr<storage::Faults> faults) : faults_(std::move(faults)) {}

    std::vector<std::uint32_t> list() const override {
        base::Lock const lock(mutex_);
        std::vector<std::uint32_t> numbers;
        for (auto const& [number, each] : files_) {
            if (!each.is_removed) numbers.push_back(number);
        }
        return numbers;
    }
    std::shared_ptr<storage::Storage> create(std::uint32_t number) override {
        base::Lock const lock(mutex_);
        auto file = std::make_shared<storage::FaultyStorage>(
            storage::make_memory_storage("run.journal." + std::to_string(number)), faults_);
        files_[number] = {file, false, false};
        return file;
    }
    std::shared_ptr<storage::Storage> open(std::uint32_t number) const override {
        base::Lock const lock(mutex_);
        auto const found = files_.find(number);
        return found == files_.end() || found->second.is_removed ? nullptr : found->second.file;
    }
    void remove(std::uint32_t number) override {
        base::Lock const lock(mutex_);
        files_.at(number).is_removed = true;
        ++removed_;
    }
    void sync() override {
        if (int const error = faults_->begin(storage::Faults::Operation::sync); error != 0)
            base::fail_system({"cannot sync the folder"}, error);
        base::Lock const lock(mutex_);
        for (auto each = files_.begin(); each != files_.end();) {
            each->second.is_durable = true;
            each = each->second.is_removed ? files_.erase(each) : std::next(each);
        }
    }

    std::shared_ptr<SegmentFolder> after_power_cut() const {
        base::Lock const lock(mutex_);
        auto left = std::make_shared<MemorySegments>();
        std::mt19937_64 random(faults_->plan().seed);
        for (auto const& [number, each] : files_) {
            bool const is_settled = each.is_durable && !each.is_removed;
            if (!is_settled && random() % 2 == 0) continue;
            storage::copy_storage(*each.file->after_power_cut(), *left->create(number));
        }
        return left;
    }
    std::uint64_t removed() const { return removed_; }

  private:
    struct File {
        std::shared_ptr<storage::FaultyStorage> file;
        bool is_durable = false;
        bool is_removed = false;
    };
    std::shared_ptr<storage::Faults> faults_;
    mutable base::Mutex mutex_;
    std::map<std::uint32_t, File> files_;
    std::uint64_t removed_ = 0;
};

} // namespace thalweg::dataset::testing
