// The memory through which one client of the same host gets its answers: a ring, from which the client only reads.
// Answers are written one behind the other, and the client releases them in the same order. An answer never wraps.
//
// Invariants:
//   1. The bytes of an answer that is not released are never written again.
//   2. used_bytes() is the sum over the answers that are not released.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>

#include "thalweg/readout/server/connection_quota.h"
#include "thalweg/transport/passed_memory.h"

namespace thalweg::readout {

class AnswerMemory {
  public:
    // The quota counts it until it is destroyed. Returns nothing if there is no room for so much, or the machine makes
    // no such memory: then answers go over the socket.
    static std::unique_ptr<AnswerMemory> make(std::uint64_t bytes, std::shared_ptr<ConnectionQuota> const& quota);
    AnswerMemory(AnswerMemory const&) = delete;
    AnswerMemory& operator=(AnswerMemory const&) = delete;
    ~AnswerMemory();

    // Returns free bytes, `most_bytes` at least, or nothing if there are not so many in one piece. Call add() with the
    // number of those that were written.
    std::span<std::byte> room(std::size_t most_bytes);
    // Returns the offset of the answer.
    std::uint64_t add(std::size_t bytes);
    // The client needs so many answers, of all that it ever got, no more. Returns false if that cannot be.
    bool release(std::uint64_t answers);

    std::uint64_t size() const { return memory_.mapping.size(); }
    std::uint64_t used_bytes() const { return used_; }
    base::FileDescriptor const& file() const { return memory_.file; }
    void passed_on() { memory_.file.reset(); }

  private:
    struct Answer {
        std::size_t begin = 0;
        std::size_t bytes = 0; // with those up to the next possible beginning
    };

    AnswerMemory(transport::SealedMemory&& memory, std::shared_ptr<ConnectionQuota> quota);

    transport::SealedMemory memory_;
    std::shared_ptr<ConnectionQuota> quota_;
    std::deque<Answer> answers_;
    std::size_t end_ = 0; // of the newest answer
    std::uint64_t used_ = 0;
    std::uint64_t released_ = 0;
};

} // namespace thalweg::readout
