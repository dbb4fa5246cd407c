// The outputs of a job of an event loop: created, or gone on with.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "thalweg/derive/event_loop.h"
#include "thalweg/derive/event_worker.h"

namespace thalweg::derive {

class LoopOutputs {
  public:
    // `identity`: what the input is. Outputs that are there already are read if the job is resumed. Throws
    // base::UsageError if they are of another input, or of another version of the function.
    LoopOutputs(std::vector<Output> const& outputs, std::string identity, LoopOptions const& options);

    // Returns the ranges of outputs that were there before, so that a job that is resumed has the same ranges.
    std::optional<RangeEnds> const& ends() const { return ends_; }

    // Creates the outputs, or resumes those that are there.
    void open(RangeEnds const& ends, bool resume);

    // Returns the ranges that some output lacks, the large ones first. Throws base::UsageError if an output is complete
    // and lacks some.
    std::vector<std::uint64_t> lacking(std::vector<LoopRange> const& ranges) const;
    bool has(LoopRange const& range) const;

    std::vector<LoopTarget> targets() const;
    std::vector<OutputReport> close();
    void abandon();

  private:
    struct Open {
        Output output;
        std::unique_ptr<dataset::Writer> writer; // none: it is complete
        std::set<std::int64_t> has;              // of a complete one
        bool is_there = false;
    };
    void look_at(Open& each, std::string const& version);

    std::vector<Open> outputs_;
    std::string identity_, version_;
    std::optional<RangeEnds> ends_;
};

} // namespace thalweg::derive
