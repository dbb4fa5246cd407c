// How old the newest state is that a power cut leaves: from what producers had published at certain moments, never from
// when a flush began.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace thalweg::dataset {

class Durability {
  public:
    using Items = std::map<std::uint32_t, std::vector<std::uint64_t>>; // by producer and column

    explicit Durability(std::uint64_t now_ns) : durable_ns_(now_ns) {}

    // What was published, read after that moment: so every row is in it whose append had returned before.
    void note_published(std::uint64_t moment_ns, Items published);
    // So many items would be durable if a flush began now. Producers that are not named have settled: all they had is.
    // True: that is all that was noted last.
    bool note_covered(Items const& covered);
    void flush_begins() { flushing_ns_ = covered_ns_; }
    void flush_ended() { durable_ns_ = std::max(durable_ns_, flushing_ns_); }

    // Every row whose append had returned at that moment is durable.
    std::uint64_t durable_ns() const { return durable_ns_; }
    // Returns what was published at the last moment noted and is not covered, by producer.
    Items const& wanted() const;

  private:
    struct Moment {
        std::uint64_t ns;
        Items missing;
    };

    std::deque<Moment> moments_; // that are not covered yet
    std::uint64_t covered_ns_ = 0;
    std::uint64_t flushing_ns_ = 0;
    std::uint64_t durable_ns_;
};

} // namespace thalweg::dataset
