#include "studies/driver/events.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "studies/driver/material.h"
#include "thalweg/dataset/complete/complete.h"
#include "thalweg/dataset/run/format_for.h"

namespace thalweg::study {
namespace {

constexpr std::uint64_t kBatchEvents = 8192;
constexpr std::uint64_t kBatches = 16; // appended again and again: together much longer than a page

Rows event_rows(std::size_t producer, std::uint64_t count) {
    std::vector<Events> batches;
    for (std::uint64_t i = 0; i < kBatches; ++i) batches.push_back(draw_events(kBatchEvents, producer * kBatches + i));
    std::vector<std::uint64_t> ids(kBatchEvents);
    return [=, first_id = producer * count](dataset::Producer& to) mutable {
        std::uint64_t bytes = 0;
        for (std::uint64_t event = 0; event < count; event += kBatchEvents) {
            auto const& batch = batches[event / kBatchEvents % kBatches];
            std::iota(ids.begin(), ids.end(), first_id + event);
            std::span<std::byte const> const columns[] = {std::as_bytes(std::span(ids)),
                                                          std::as_bytes(std::span(batch.lengths)),
                                                          std::as_bytes(std::span(batch.energies))};
            to.append(kBatchEvents, columns);
            for (auto const& column : columns) bytes += column.size();
        }
        return bytes;
    };
}

template <class Value> std::vector<std::byte> bytes_of(std::vector<Value> const& values) {
    auto const bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

} // namespace

model::Schema event_schema() {
    model::Field const energy{"_0", model::Kind::scalar, model::Scalar::float32, {}, {}, "", ""};
    return {{{"events",
              {{"eventId", model::Kind::scalar, model::Scalar::uint64, {}, {}, "", ""},
               {"particles", model::Kind::list, {}, {}, {energy}, "", ""}},
              ""}}};
}

Events draw_events(std::uint64_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::poisson_distribution<std::uint64_t> length(kMeanParticles);
    std::uniform_real_distribution<float> energy(0, 100);
    Events events{std::vector<std::uint64_t>(count), {}};
    for (auto& each : events.lengths) each = length(random);
    events.energies.resize(std::accumulate(events.lengths.begin(), events.lengths.end(), std::uint64_t{0}));
    for (auto& each : events.energies) each = energy(random);
    return events;
}

Material events(std::size_t producers, std::uint64_t bytes) {
    auto const count = bytes / kEventBytes / producers / kBatchEvents * kBatchEvents;
    return {event_schema(), ".root", std::vector<std::string>(producers, "events"),
            [count](std::size_t producer) { return event_rows(producer, count); }};
}

// Makes as many events as `append` gets before they repeat; lengths are running sums, as in their pages.
std::vector<ColumnPages> event_pages(std::string const& codec) {
    auto events = draw_events(kBatchEvents * kBatches, 0);
    std::vector<std::uint64_t> ids(events.lengths.size());
    std::iota(ids.begin(), ids.end(), 0);
    std::partial_sum(events.lengths.begin(), events.lengths.end(), events.lengths.begin());
    model::LayoutOptions options;
    options.narrow_codec = codec;
    auto const head = dataset::format_for("events.root").make_head(event_schema(), options, {});
    std::vector<std::byte> const bytes[] = {bytes_of(ids), bytes_of(events.lengths), bytes_of(events.energies)};
    std::vector<ColumnPages> pages;
    for (std::size_t i = 0; i < std::size(bytes); ++i) {
        auto const& layout = head.layouts[0].columns[i];
        auto const element_bytes = model::size_bytes(head.columns[0][i].scalar);
        pages.push_back({layout.codec, element_bytes, layout.page_items * element_bytes, bytes[i]});
    }
    return pages;
}

} // namespace thalweg::study
