// Rows with the samples of pulses become rows with their features, with or without the samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/features/extractor.h"
#include "thalweg/model/column.h"
#include "thalweg/source/source.h"

namespace thalweg::features {

struct FeatureRowOptions {
    FeatureOptions pulse;
    // The field of the samples: an array or list, or a struct {t0, dt, values}. If it has no t0, that is a real number
    // with a unit of time beside it, if there is one: from the timestamp to the first sample.
    std::string waveform = "waveform";
    std::string timestamp = "timestamp";
    double sample_period_ns = 0; // 0: it is in the rows
    // Samples are kept in one of so many slices of time, the same ones in all streams; 1: all, 0: none.
    std::uint64_t keep_one_of = 1;
};

// The slices, by the time of the pulse.
inline constexpr std::int64_t kSlicePs = 10'000'000'000;

// Returns whether the table has the field of the samples.
bool has_samples(model::Table const& table, FeatureRowOptions const& options);

// How many rows had which flags.
struct FlagCounts {
    std::uint64_t saturated = 0, piled_up = 0, without_pulse = 0;
};

class FeatureRows {
  public:
    // Throws base::UsageError, which names table and column, if the table has no samples or times that can be used.
    FeatureRows(model::Table const& table, FeatureRowOptions const& options);

    // The table of the rows that it gives: that of the samples, with energy (float32, ADC * ns), time (ps; uint64 if
    // the timestamps are uint64, else int64) and flags (uint16) behind the other fields. An energy that the table has
    // already stays, and there is no other one; if there is a `time` or `flags` already, these are called pulse_time
    // and pulse_flags. Thinned samples are lists, which are empty in the other rows.
    model::Table const& table() const { return table_; }

    // Returns the rows of a batch with their features; its bytes stay until the next call. If timestamps are
    // unsigned, a time before the zero of the clock is 0. Throws base::DataError if a time does not fit into 63 bits of
    // picoseconds, or no record can begin at it, and base::UsageError if a sampling period is not known.
    source::Batch take(source::Batch const& batch);

    // Counts the rows of the last call.
    FlagCounts const& flag_counts() const { return flag_counts_; }

  private:
    // The numbers of the columns of a pulse.
    struct Places {
        std::size_t timestamp = 0, values = 0;
        std::optional<std::size_t> lengths, t0, dt;
    };

    [[noreturn]] void refuse(std::string const& column, std::string const& why, std::string const& suggestion) const;
    void find_samples(std::size_t field);
    void find_begin_beside();
    void find_times();
    void make_table(std::size_t field);
    void make_order(std::size_t field);
    void split(source::Batch const& batch);
    void measure(source::Batch const& batch);
    std::span<std::uint16_t const> samples_of(std::uint64_t row);
    bool may_be_negative() const;
    std::int64_t timestamp_ps(source::Batch const& batch, std::uint64_t row) const;
    void thin();

    FeatureRowOptions options_;
    model::Table input_;
    std::vector<model::Column> columns_; // of the input
    Places places_;
    std::uint64_t ps_per_unit_ = 1;
    double ns_per_t0_ = 1;
    std::uint64_t samples_per_row_ = 0; // 0: lists
    model::Table table_;
    std::vector<std::size_t> order_; // of the columns of a result: the number of an input column, or of what is made
    bool has_energy_ = false;        // the input has
    std::optional<FeatureExtractor> extractor_;

    // What the last call has made.
    std::vector<float> energies_;
    std::vector<std::int64_t> times_ps_;
    std::vector<std::uint16_t> flags_;
    FlagCounts flag_counts_;
    std::vector<std::span<std::byte const>> row_samples_; // of each row
    std::vector<std::uint16_t> aligned_;
    std::vector<std::uint64_t> thinned_lengths_;
    std::vector<std::byte> thinned_samples_;
    std::vector<std::span<std::byte const>> result_;
};

} // namespace thalweg::features
