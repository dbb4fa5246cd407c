#include "thalweg/dataset/run/commit_status.h"

#include <cstring>

namespace thalweg::dataset {

void read_counts(Staging const& staging, ProducerStatus& status) {
    status.rows = staging.rows_counted();
    auto const& counts = staging.head().counts;
    for (std::size_t i = 0; i < counts.size(); ++i) status.counts[i] = counts[i].load(std::memory_order_relaxed);
    status.named.clear();
    for (auto const& counter : staging.head().named) {
        std::string const name(counter.name, ::strnlen(counter.name, sizeof counter.name));
        if (!name.empty()) status.named[name] = counter.value.load(std::memory_order_relaxed);
    }
    status.staging_fill = staging.fill();
}

} // namespace thalweg::dataset
