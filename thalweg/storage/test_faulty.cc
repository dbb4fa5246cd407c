#include "thalweg/storage/test_faulty.h"

#include <algorithm>
#include <cerrno>
#include <deque>

#include "thalweg/base/units.h"
#include "thalweg/storage/failure.h"
#include "thalweg/storage/queue.h"

namespace thalweg::storage {
namespace {

constexpr std::uint64_t kSectorBytes = 512; // what a disk writes whole or not at all

bool toss(std::mt19937_64& random, double chance) {
    return chance > 0 && std::uniform_real_distribution<double>(0, 1)(random) < chance;
}

} // namespace

FaultCounts Faults::counts() const {
    base::Lock const lock(mutex_);
    return counts_;
}

bool Faults::power_is_off() const {
    base::Lock const lock(mutex_);
    return power_is_off_;
}

void Faults::set_space(std::uint64_t bytes) {
    base::Lock const lock(mutex_);
    plan_.space_bytes = bytes;
}

int Faults::begin(Operation operation) {
    base::Lock const lock(mutex_);
    if (power_is_off_ || counts_.operations++ == plan_.power_cut_at) {
        power_is_off_ = true;
        return EIO;
    }
    switch (operation) {
    case Operation::write: {
        bool const unlucky = storage::toss(random_, plan_.write_failure_chance);
        return counts_.writes++ == plan_.fail_write || unlucky ? EIO : 0;
    }
    case Operation::sync:
        return counts_.syncs++ == plan_.fail_sync ? EIO : 0;
    case Operation::reserve:
        return counts_.reserves++ == plan_.refuse_reserve ? ENOSPC : 0;
    case Operation::resize:
        return 0;
    }
    return 0;
}

int Faults::grow(std::int64_t more_bytes) {
    base::Lock const lock(mutex_);
    auto const used_bytes = used_bytes_ + more_bytes;
    if (more_bytes > 0 && static_cast<std::uint64_t>(used_bytes) > plan_.space_bytes) return ENOSPC;
    used_bytes_ = used_bytes;
    return 0;
}

bool Faults::toss(double chance) {
    base::Lock const lock(mutex_);
    return storage::toss(random_, chance);
}

// Completions of refused writes are its own; the others come from the inner queue, which counts writes by its own
// tokens.
class FaultyQueue final : public WriteQueue {
  public:
    FaultyQueue(FaultyStorage& storage, std::size_t depth)
        : storage_(storage), inner_(storage.inner_->write_queue(depth)) {}

    void submit(std::uint64_t offset, std::span<std::byte const> bytes, std::uint64_t token) override {
        check_aligned(storage_.path(), offset, bytes);
        Write write{token, {}};
        if (int const error = storage_.admit(offset, bytes, write.keys); error != 0) {
            refused_.push_back({token, error});
            return;
        }
        writes_.emplace(next_, std::move(write));
        inner_->submit(offset, bytes, next_++);
    }

    std::size_t reap(std::span<Completion> out, bool wait) override {
        auto const refused = hand_out(refused_, out);
        out = out.subspan(refused);
        auto const count = inner_->reap(out, wait && refused == 0);
        for (auto& completion : out.first(count)) {
            auto const write = writes_.extract(completion.token).mapped();
            completion.token = write.token;
            if (completion.error == 0 && storage_.faults_->power_is_off()) completion.error = EIO;
            if (completion.error == 0) storage_.end(write.keys);
        }
        return refused + count;
    }

    std::size_t in_flight() const override { return refused_.size() + inner_->in_flight(); }

  private:
    struct Write {
        std::uint64_t token;
        std::vector<std::uint64_t> keys;
    };

    FaultyStorage& storage_;
    std::unique_ptr<WriteQueue> inner_;
    std::map<std::uint64_t, Write> writes_;
    std::deque<Completion> refused_;
    std::uint64_t next_ = 0;
};

FaultyStorage::FaultyStorage(std::unique_ptr<Storage> inner, std::shared_ptr<Faults> faults)
    : inner_(std::move(inner)), faults_(std::move(faults)), number_(faults_->number_file()),
      durable_(make_memory_storage(inner_->path())), end_(inner_->size()) {
    copy_storage(*inner_, *durable_);
    faults_->grow(static_cast<std::int64_t>(end_));
}

void FaultyStorage::read(std::uint64_t offset, std::span<std::byte> bytes) const {
    if (faults_->power_is_off()) fail_at("read", path(), offset, bytes.size(), EIO);
    inner_->read(offset, bytes);
}

void FaultyStorage::write(std::uint64_t offset, std::span<std::byte const> bytes) {
    std::vector<std::uint64_t> keys;
    if (int const error = admit(offset, bytes, keys); error != 0) fail_at("write", path(), offset, bytes.size(), error);
    inner_->write(offset, bytes);
    end(keys);
}

void FaultyStorage::resize(std::uint64_t size_bytes) {
    if (int const error = admit_size(Faults::Operation::resize, size_bytes)) fail_whole("resize", path(), error);
    inner_->resize(size_bytes);
}

void FaultyStorage::reserve(std::uint64_t offset, std::uint64_t size_bytes) {
    auto const end = size_bytes == 0 ? 0 : offset + size_bytes;
    if (int const error = admit_size(Faults::Operation::reserve, std::max(size(), end))) {
        fail_at("reserve", path(), offset, size_bytes, error);
    }
    inner_->reserve(offset, size_bytes);
}

void FaultyStorage::sync() {
    base::Lock const lock(mutex_);
    if (int const error = faults_->begin(Faults::Operation::sync); error != 0) sync_error_ = error;
    if (sync_error_ != 0) fail_whole("sync", path(), sync_error_);
    inner_->sync();
    for (auto change = changes_.begin(); change != changes_.end();) {
        auto const& [offset_or_size, bytes, ended] = change->second;
        if (!ended) {
            ++change;
            continue;
        }
        if (bytes.empty())
            durable_->resize(offset_or_size);
        else
            durable_->write(offset_or_size, bytes);
        change = changes_.erase(change);
    }
}

std::unique_ptr<WriteQueue> FaultyStorage::write_queue(std::size_t depth) {
    return std::make_unique<FaultyQueue>(*this, depth);
}

std::unique_ptr<Storage> FaultyStorage::after_power_cut() const {
    base::Lock const lock(mutex_);
    auto image = make_memory_storage(path());
    copy_storage(*durable_, *image);
    auto const chance = faults_->plan().sector_survival_chance;
    std::mt19937_64 random(faults_->plan().seed + number_);
    for (auto const& [key, change] : changes_) {
        auto const bytes = std::span(change.bytes);
        if (bytes.empty() && toss(random, chance)) image->resize(change.offset_or_size);
        for (std::uint64_t done = 0; done < bytes.size();) {
            auto const offset = change.offset_or_size + done;
            auto const count = std::min(kSectorBytes - offset % kSectorBytes, bytes.size() - done);
            if (toss(random, chance)) image->write(offset, bytes.subspan(done, count));
            done += count;
        }
    }
    return image;
}

int FaultyStorage::admit(std::uint64_t offset, std::span<std::byte const> bytes, std::vector<std::uint64_t>& keys) {
    bool const is_short = bytes.size() > 1 && faults_->toss(faults_->plan().short_write_chance);
    auto const first = is_short ? bytes.size() / 2 : bytes.size();
    int error = admit_piece(offset, bytes.first(first), keys);
    if (is_short && error == 0) error = admit_piece(offset + first, bytes.subspan(first), keys);
    return error;
}

int FaultyStorage::admit_piece(std::uint64_t offset, std::span<std::byte const> bytes,
                               std::vector<std::uint64_t>& keys) {
    base::Lock const lock(mutex_);
    bool const power_was_off = faults_->power_is_off();
    int error = faults_->begin(Faults::Operation::write);
    if (error == 0) error = move_end(std::max(end_, offset + bytes.size()));
    bool const cut = !power_was_off && faults_->power_is_off(); // within this write: some of it may have arrived
    if ((error == 0 || cut) && !bytes.empty()) {
        keys.push_back(next_key_);
        changes_[next_key_++] = {offset, {bytes.begin(), bytes.end()}, false};
    }
    return error;
}

void FaultyStorage::end(std::vector<std::uint64_t> const& keys) {
    base::Lock const lock(mutex_);
    for (auto const key : keys) changes_.at(key).ended = true;
}

int FaultyStorage::admit_size(Faults::Operation operation, std::uint64_t size_bytes) {
    base::Lock const lock(mutex_);
    int error = faults_->begin(operation);
    if (error == 0) error = move_end(size_bytes);
    if (error == 0 && size_bytes != inner_->size()) changes_[next_key_++] = {size_bytes, {}, true};
    return error;
}

int FaultyStorage::move_end(std::uint64_t end) {
    int const error = faults_->grow(static_cast<std::int64_t>(end - end_));
    if (error == 0) end_ = end;
    return error;
}

void copy_storage(Storage const& from, Storage& to) {
    std::vector<std::byte> bytes(std::min<std::uint64_t>(from.size(), base::kMiB));
    to.resize(from.size());
    for (std::uint64_t done = 0; done < from.size(); done += bytes.size()) {
        bytes.resize(std::min<std::uint64_t>(bytes.size(), from.size() - done));
        from.read(done, bytes);
        to.write(done, bytes);
    }
}

} // namespace thalweg::storage
