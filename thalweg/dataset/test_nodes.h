// Several nodes of one run, for the tests of them: here they are threads of one process, with memory of their own.
// tests/nodes has machines of their own, and kills.
#pragma once

#include <filesystem>
#include <fmt/format.h>
#include <future>
#include <set>

#include "thalweg/base/checksum.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/begin/creation.h"
#include "thalweg/dataset/complete/region_gaps.h"
#include "thalweg/dataset/complete/snapshot.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/read/verify.h"
#include "thalweg/dataset/run/attach.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/dataset/test_bad_day.h"

namespace thalweg::dataset::testing {

inline constexpr std::uint64_t kRows = 700;
inline constexpr std::uint64_t kSoonNs = 500'000'000, kComeNs = 30'000'000'000;

inline CreateOptions options_for(std::uint32_t nodes, std::uint64_t timeout_ns = kComeNs) {
    auto options = small_run_options();
    options.layout.wide_codec = options.layout.narrow_codec = "none"; // which both containers have
    options.shared = true;
    options.nodes.nodes = nodes;
    options.nodes.timeout_ns = timeout_ns;
    return options;
}

inline JoinOptions joining(std::uint64_t timeout_ns = kComeNs) {
    JoinOptions options;
    options.timeout_ns = timeout_ns;
    return options;
}

using Writers = std::vector<std::unique_ptr<Writer>>;

inline Writers begin(std::string const& path, CreateOptions const& options, model::Schema const& schema = events()) {
    std::vector<std::future<std::unique_ptr<Writer>>> coming;
    coming.push_back(std::async(std::launch::async, [&] { return Writer::create(path, schema, options); }));
    for (std::uint32_t node = 1; node < options.nodes.nodes; ++node) {
        coming.push_back(std::async(std::launch::async, [&, node] { return Writer::join(path, node, joining()); }));
    }
    Writers writers;
    for (auto& each : coming) writers.push_back(each.get());
    return writers;
}

// All at once, as it has to be. What each was told, or what went wrong.
inline std::vector<std::string> close_all(Writers& writers, std::vector<CompleteResult>* results = nullptr) {
    std::vector<std::future<std::string>> closing;
    std::vector<CompleteResult> all(writers.size());
    for (std::size_t i = 0; i < writers.size(); ++i) {
        closing.push_back(std::async(std::launch::async,
                                     [&, i] { return message_of([&] { all[i] = writers[i]->close(kTimeoutNs); }); }));
    }
    std::vector<std::string> said;
    for (auto& each : closing) said.push_back(each.get());
    if (results != nullptr) *results = std::move(all);
    return said;
}

inline void append_on_all(Writers const& writers, std::uint64_t rows = kRows) {
    for (std::size_t i = 0; i < writers.size(); ++i) {
        auto producer = writers[i]->producer("events");
        append_events(producer, static_cast<std::uint8_t>(i), 0, rows);
        producer.finish();
    }
}

inline RowCounts rows_in(std::string const& path) {
    return expect_right(*storage::open_file_storage(path, storage::OpenMode::read_only));
}

inline RowCounts all_rows(std::size_t nodes) {
    RowCounts counts;
    for (std::size_t i = 0; i < nodes; ++i) counts[static_cast<std::uint8_t>(i)] = kRows;
    return counts;
}

// As its machine and its host would be called elsewhere.
inline void move_to_another_machine(RunPlace const& place) {
    auto const journal = place.open_journal(storage::OpenMode::read_write).main;
    auto preamble = require_start(*journal).preamble;
    std::strcpy(preamble.boot_id, "another boot");
    std::strcpy(preamble.host, "elsewhere");
    preamble.check = base::xxh3(std::as_bytes(std::span(&preamble, 1)).first(offsetof(JournalPreamble, check)));
    for (auto const offset : kPreambleOffsets) journal->write(offset, std::as_bytes(std::span(&preamble, 1)));
}

class Nodes : public ::testing::TestWithParam<char const*> {
  protected:
    Directory const directory_;
    std::string const path_ = directory_.file(GetParam());
    PartsFolder const parts_{path_};
};

} // namespace thalweg::dataset::testing
