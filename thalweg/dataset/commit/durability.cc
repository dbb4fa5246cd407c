#include "thalweg/dataset/commit/durability.h"

#include <algorithm>

#include "thalweg/base/assert.h"

namespace thalweg::dataset {
namespace {

constexpr std::size_t kMostMoments = 64; // with fewer, the lag is told less finely

bool has(std::vector<std::uint64_t> const& covered, std::vector<std::uint64_t> const& wanted) {
    return std::equal(wanted.begin(), wanted.end(), covered.begin(), covered.end(), std::less_equal<>());
}

} // namespace

void Durability::note_published(std::uint64_t moment_ns, Items published) {
    THALWEG_ASSERT(moments_.empty() || moments_.back().ns <= moment_ns, "moments are noted in their order");
    if (moments_.size() >= kMostMoments) moments_.erase(moments_.end() - 2);
    moments_.push_back({moment_ns, std::move(published)});
}

bool Durability::note_covered(Items const& covered) {
    for (auto& moment : moments_) {
        std::erase_if(moment.missing, [&](auto const& each) {
            auto const found = covered.find(each.first);
            return found == covered.end() || has(found->second, each.second);
        });
    }
    for (; !moments_.empty() && moments_.front().missing.empty(); moments_.pop_front())
        covered_ns_ = moments_.front().ns;
    return moments_.empty();
}

Durability::Items const& Durability::wanted() const {
    static Items const nothing;
    return moments_.empty() ? nothing : moments_.back().missing;
}

} // namespace thalweg::dataset
