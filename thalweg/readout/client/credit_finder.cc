#include "thalweg/readout/client/credit_finder.h"

#include <algorithm>
#include <utility>

namespace thalweg::readout {
namespace {

constexpr std::uint64_t kAnswersOfRound = 16;
constexpr std::uint64_t kDelayIsOldNs = 10'000'000'000; // then queues are emptied, and it is measured again

} // namespace

CreditFinder::CreditFinder(std::uint64_t most_bytes)
    : most_bytes_(most_bytes), credit_bytes_(std::min(kLeastBytes, most_bytes)) {}

void CreditFinder::answered(std::uint64_t bytes, std::uint64_t sent_ns, std::uint64_t now_ns) {
    if (round_began_ns_ == 0) round_began_ns_ = sent_ns;
    round_bytes_ += bytes;
    ++round_answers_;
    largest_of_round_bytes_ = std::max(largest_of_round_bytes_, bytes);
    largest_answer_bytes_ = std::max(largest_answer_bytes_, bytes);
    // A small answer is quick, and says nothing of the time that the others need.
    if (2 * bytes >= largest_answer_bytes_ && now_ns - sent_ns < shortest_ns_) {
        shortest_ns_ = std::max<std::uint64_t>(1, now_ns - sent_ns);
        shortest_since_ns_ = now_ns;
    }
    // A round is long enough for the credit of its begin to have had its effect.
    if (round_answers_ >= kAnswersOfRound && now_ns - round_began_ns_ >= 2 * shortest_ns_) end_round(now_ns);
}

void CreditFinder::end_round(std::uint64_t now_ns) {
    auto const goodput = static_cast<double>(round_bytes_) / static_cast<double>(now_ns - round_began_ns_);
    // Without a request that waited, the events were what limited it: it may be more than was known, but not less.
    auto const known = *std::ranges::max_element(goodputs_);
    if (!empties_queues_ && (is_limited_ || goodput > known)) {
        goodputs_[next_goodput_] = goodput;
        next_goodput_ = (next_goodput_ + 1) % kRounds;
    }
    round_began_ns_ = now_ns;
    round_bytes_ = round_answers_ = 0;
    largest_answer_bytes_ = std::exchange(largest_of_round_bytes_, 0);
    is_limited_ = empties_queues_ = false;
    if (now_ns - shortest_since_ns_ > kDelayIsOldNs) return find_delay_anew(now_ns);
    auto const largest = *std::ranges::max_element(goodputs_);
    // Only whole answers fit into the credit, so there is room for one more.
    auto const wanted =
        static_cast<std::uint64_t>(2 * largest * static_cast<double>(shortest_ns_)) + largest_answer_bytes_;
    credit_bytes_ = std::min(std::max(kLeastBytes, wanted), most_bytes_);
}

void CreditFinder::find_delay_anew(std::uint64_t now_ns) {
    shortest_ns_ = ~0ull;
    shortest_since_ns_ = now_ns;
    empties_queues_ = true;
    credit_bytes_ = std::min(kLeastBytes, most_bytes_);
}

} // namespace thalweg::readout
