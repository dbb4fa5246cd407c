#include "thalweg/readout/server/answer_memory.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "thalweg/base/assert.h"

namespace thalweg::readout {
namespace {

constexpr std::size_t kAlignment = 64; // a cache line has bytes of one answer only

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

} // namespace

std::unique_ptr<AnswerMemory> AnswerMemory::make(std::uint64_t bytes, std::shared_ptr<ConnectionQuota> const& quota) {
    if (bytes == 0 || !quota->lend(bytes)) return nullptr;
    try {
        return std::unique_ptr<AnswerMemory>(new AnswerMemory(transport::SealedMemory::make(bytes), quota));
    } catch (std::exception const&) { // the socket is a way, too
        quota->take_back(bytes);
        return nullptr;
    }
}

AnswerMemory::AnswerMemory(transport::SealedMemory&& memory, std::shared_ptr<ConnectionQuota> quota)
    : memory_(std::move(memory)), quota_(std::move(quota)) {}

AnswerMemory::~AnswerMemory() { quota_->take_back(size()); }

std::span<std::byte> AnswerMemory::room(std::size_t most_bytes) {
    auto const all = std::span(memory_.mapping.data(), size());
    // An empty ring begins again: the same few bytes stay in the caches of both sides.
    if (answers_.empty()) end_ = 0;
    auto const oldest = answers_.empty() ? all.size() : answers_.front().begin;
    bool const has_wrapped = !answers_.empty() && end_ <= oldest;
    auto const behind = (has_wrapped ? oldest : all.size()) - end_;
    if (behind >= most_bytes) return all.subspan(end_, behind);
    if (has_wrapped || answers_.empty() || oldest < most_bytes) return {};
    end_ = 0;
    return all.first(oldest);
}

std::uint64_t AnswerMemory::add(std::size_t bytes) {
    auto const begin = end_;
    end_ = std::min<std::size_t>(end_ + aligned(bytes), size());
    answers_.push_back({begin, end_ - begin});
    used_ += end_ - begin;
    THALWEG_ASSERT(used_ <= size(), "answers in memory share no byte");
    return begin;
}

bool AnswerMemory::release(std::uint64_t answers) {
    if (answers < released_ || answers - released_ > answers_.size()) return false;
    for (; released_ < answers; ++released_) {
        used_ -= answers_.front().bytes;
        answers_.pop_front();
    }
    return true;
}

} // namespace thalweg::readout
