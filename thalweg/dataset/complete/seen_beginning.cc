#include <algorithm>

#include "thalweg/base/assert.h"
#include "thalweg/dataset/complete/journal_facts.h"

namespace thalweg::dataset {
namespace {

using Places = std::vector<std::optional<std::size_t>>;
using AllPlaces = std::map<std::pair<std::uint32_t, std::uint32_t>, Places>; // by producer and column

void cut_seen(std::vector<Page>& pages, std::uint64_t begin) {
    for (auto& page : pages) {
        if (page.first >= begin || page.first + page.count <= begin) continue;
        auto const cut = begin - page.first;
        page.first += cut;
        page.skip += cut;
        page.count -= cut;
    }
}

// Takes out pages. Returns the new place of each page that stays; nothing if none goes.
Places drop_pages(std::vector<Page>& pages, auto const& goes, auto const& count) {
    if (std::ranges::none_of(pages, goes)) return {};
    Places places;
    std::vector<Page> rest;
    for (auto const& page : pages) {
        if (goes(page)) {
            places.emplace_back();
            count(page);
        } else {
            places.emplace_back(rest.size());
            rest.push_back(page);
        }
    }
    pages = std::move(rest);
    return places;
}

// `beside`: what is known about each, in the same order.
template <typename... Beside>
void keep_announced(std::vector<Announced>& all, AllPlaces const& places, std::vector<Beside>&... beside) {
    if (places.empty()) return;
    std::size_t end = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto each = all[i];
        if (auto const found = places.find({each.producer, each.column}); found != places.end()) {
            auto const place = found->second[each.index];
            if (!place) continue;
            each.index = *place;
        }
        all[end] = each;
        ((beside[end] = beside[i]), ...);
        ++end;
    }
    all.resize(end);
    all.shrink_to_fit();
    ((beside.resize(end), beside.shrink_to_fit()), ...);
}

void count_seen(SeenBeginning& seen, Page const& page) {
    ++seen.pages;
    seen.raw_bytes += page.raw_bytes;
    seen.stored_bytes += page.stored_bytes;
    seen.end_offset = std::max(seen.end_offset, page.offset + page.stored_bytes + sizeof(std::uint64_t));
}

} // namespace

void JournalFacts::drop_seen(std::function<bool(std::uint64_t address)> const& is_gone) {
    AllPlaces of_pages, of_rows;
    for (auto& [number, producer] : producers) {
        auto& seen = producer.seen;
        for (std::uint32_t column = 0; column < producer.pages.size(); ++column) {
            auto const begin = seen.items[column];
            auto& pages = producer.pages[column];
            auto& rows = producer.waiting[column];
            cut_seen(pages, begin);
            cut_seen(rows, begin);
            auto const is_seen = [&](Page const& page) { return page.first + page.count <= begin; };
            auto const goes = [&](Page const& each) { return is_seen(each) || is_gone(each.offset); };
            auto page_places = drop_pages(pages, is_seen, [&](Page const& page) { count_seen(seen, page); });
            auto row_places = drop_pages(rows, goes, [](Page const&) {});
            if (!page_places.empty()) of_pages[{number, column}] = std::move(page_places);
            if (!row_places.empty()) of_rows[{number, column}] = std::move(row_places);
            producer.durable_items[column] = std::max(producer.durable_items[column], begin);
        }
        producer.ended.erase(producer.ended.begin(), producer.ended.lower_bound(seen.rows));
    }
    keep_announced(announced, of_pages, known);
    keep_announced(announced_rows, of_rows);
    THALWEG_ASSERT(announced.size() == known.size(), "every page that was announced has its checksum");
}

} // namespace thalweg::dataset
