#include "thalweg/dataset/append/announcer.h"
#include "thalweg/base/assert.h"

#include <algorithm>

namespace thalweg::dataset {

void Announcer::expect(std::uint64_t cluster) {
    base::Lock const lock(mutex_);
    ++ends_[cluster].pages;
}

void Announcer::end_cluster(std::uint64_t cluster, std::uint64_t rows, bool by_age) {
    base::Lock const lock(mutex_);
    ends_[cluster].rows = rows;
    ends_[cluster].by_age = by_age;
    announce_ends();
}

bool Announcer::has_ends() const {
    base::Lock const lock(mutex_);
    return std::any_of(ends_.begin(), ends_.end(), [](auto const& each) { return each.second.rows > 0; });
}

void Announcer::announce_ends() {
    while (!ends_.empty()) {
        auto const& [cluster, pending] = *ends_.begin();
        if (pending.rows == 0 || pending.announced < pending.pages) return;
        PageRecord end{};
        end.producer = producer_;
        end.column = kClusterEnd;
        end.first = cluster;
        end.count = static_cast<std::uint32_t>(pending.rows);
        end.cluster = pending.pages;
        end.encoded = pending.by_age ? 1 : 0;
        if (!staging_.announce(end)) return;
        ends_.erase(ends_.begin());
    }
}

bool Announcer::announce(PageRecord const& record) {
    base::Lock const lock(mutex_);
    return staging_.announce(record);
}

void Announcer::announce(std::deque<PageRecord>& pages) {
    base::Lock const lock(mutex_);
    while (!pages.empty() && staging_.announce(pages.front())) {
        auto const page = pages.front();
        pages.pop_front();
        staging_.add(Count::pages, 1);
        staging_.add(Count::stored_bytes, page.equal == 0 ? page.stored_bytes : 0);
        staging_.add(Count::paged_bytes, page.count * staging_.column(page.column).item_bytes);
        release(page);
        if (auto const found = ends_.find(page.cluster); found != ends_.end()) ++found->second.announced;
    }
    announce_ends();
}

void Announcer::release(PageRecord const& page) {
    auto& column = staging_.column(page.column);
    auto& early = early_[page.column];
    auto const released = column.released.load(std::memory_order_relaxed);
    THALWEG_ASSERT(page.first >= released, "the items of a page are released once");
    if (page.first != released) {
        early.push_back(page);
        return;
    }
    auto end = page.first + page.count;
    while (true) {
        auto const next = std::find_if(early.begin(), early.end(), [&](auto const& each) { return each.first == end; });
        if (next == early.end()) break;
        end += next->count;
        early.erase(next);
    }
    column.released.store(end, std::memory_order_release);
    memory_.release(page.column, end * column.item_bytes);
}

} // namespace thalweg::dataset
