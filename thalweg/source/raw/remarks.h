// Sentences about an input for the end of a run.
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <utility>

#include "thalweg/source/raw/counting.h"
#include "thalweg/source/source.h"

namespace thalweg::source::raw {

class RemarksOfInput {
  public:
    explicit RemarksOfInput(std::string input) : input_(std::move(input)) {}

    void missing(std::string const& text) { remarks_.missing.push_back(sentence(text)); }
    void note(std::string const& text) { remarks_.notes.push_back(sentence(text)); }
    // The format has one place, for the count.
    void missing_if(std::uint64_t count, char const* format) {
        if (count > 0) missing(fmt::format(fmt::runtime(format), count));
    }
    void note_if(std::uint64_t count, char const* format) {
        if (count > 0) note(fmt::format(fmt::runtime(format), count));
    }
    void of_sequence(SequenceCheck const& sequence) {
        missing_if(sequence.lost(), "{} rows are missing by their sequence numbers");
        missing_if(sequence.out_of_order(), "{} rows came out of order, as their sequence numbers say");
    }
    Remarks take() { return std::move(remarks_); }

  private:
    std::string sentence(std::string const& text) const { return fmt::format("{}: {}", input_, text); }

    std::string input_;
    Remarks remarks_;
};

} // namespace thalweg::source::raw
