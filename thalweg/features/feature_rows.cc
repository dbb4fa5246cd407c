#include "thalweg/features/feature_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <string_view>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/features/field_kinds.h"

namespace thalweg::features {
namespace {

using model::Kind, model::Scalar;

// Columns of a result that are not columns of the input: numbers above all of these.
constexpr std::size_t kThinnedLengths = std::numeric_limits<std::size_t>::max() - 5;
constexpr std::size_t kThinnedSamples = kThinnedLengths + 1;
constexpr std::size_t kEnergies = kThinnedLengths + 2;
constexpr std::size_t kTimes = kThinnedLengths + 3;
constexpr std::size_t kFlags = kThinnedLengths + 4;

constexpr std::string_view kBegin = "t0"; // a column beside the samples: the time of the first one
constexpr double kPsPerNs = 1000;
constexpr double kMostNs = 1e12; // from the timestamp of a record to its pulse
constexpr std::int64_t kMostPs = std::numeric_limits<std::int64_t>::max();

// Slices follow each other without a gap, also around 0.
std::int64_t slice_of(std::int64_t time_ps) { return time_ps >= 0 ? time_ps / kSlicePs : (time_ps + 1) / kSlicePs - 1; }

template <typename Number> Number number_at(std::span<std::byte const> column, std::uint64_t row) {
    Number number;
    std::memcpy(&number, column.data() + row * sizeof number, sizeof number);
    return number;
}

double real_at(std::span<std::byte const> column, Scalar scalar, std::uint64_t row) {
    return scalar == Scalar::float32 ? static_cast<double>(number_at<float>(column, row))
                                     : number_at<double>(column, row);
}

std::string free_name(model::Table const& table, std::string const& name) {
    return place_of(table.fields, name) ? "pulse_" + name : name;
}

} // namespace

bool has_samples(model::Table const& table, FeatureRowOptions const& options) {
    return place_of(table.fields, options.waveform).has_value();
}

void FeatureRows::refuse(std::string const& column, std::string const& why, std::string const& suggestion) const {
    base::fail_usage(
        {fmt::format("the pulses of table '{}' have no features: column '{}' {}", input_.name, column, why), "",
         suggestion});
}

FeatureRows::FeatureRows(model::Table const& table, FeatureRowOptions const& options)
    : options_(options), input_(table), columns_(model::flatten(table)) {
    auto const field = place_of(table.fields, options.waveform);
    if (!field) refuse(options.waveform, "does not exist", "set waveform in [features]");
    find_samples(*field);
    find_times();
    make_order(*field);
    make_table(*field);
}

void FeatureRows::find_samples(std::size_t field) {
    auto const& waveform = input_.fields[field];
    auto const* values = values_of(waveform);
    if (values == nullptr || !holds_samples(*values)) {
        refuse(options_.waveform, "has no samples of 16 bits, as an array or a list of integers",
               "set waveform in [features]");
    }
    if (values->kind == Kind::scalar) samples_per_row_ = values->shape[0];
    bool is_signed = false;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        auto const& column = columns_[i];
        if (column.field_path.front() != field) continue;
        if (column.role == model::Column::Role::lengths) {
            places_.lengths = i;
        } else if (column.path == options_.waveform + "/t0") {
            places_.t0 = i;
        } else if (column.path == options_.waveform + "/dt") {
            places_.dt = i;
        } else if (column.scalar == Scalar::uint16 || column.scalar == Scalar::int16) {
            places_.values = i;
            is_signed = column.scalar == Scalar::int16;
        }
    }
    for (auto const& place : {places_.t0, places_.dt}) // of the struct
        if (place && !is_time_in_ns(input_, columns_[*place]))
            refuse(columns_[*place].path, "is no real number of the unit ns", "set waveform in [features]");
    if (!places_.dt && options_.sample_period_ns == 0)
        refuse(options_.waveform, "has no time dt from sample to sample", "set sample-period in [features], in ns");
    if (!places_.t0) find_begin_beside();
    extractor_.emplace(options_.pulse, is_signed);
}

// Cards that give samples as an array have the time of the first one in a column of its own.
void FeatureRows::find_begin_beside() {
    auto const field = place_of(input_.fields, kBegin);
    auto const column = std::ranges::find(columns_, kBegin, &model::Column::path);
    if (!field || column == columns_.end() || column->values_per_item != 1) return;
    auto const ps_per_unit = ps_of_unit(input_.fields[*field].unit);
    if (ps_per_unit == 0 || (column->scalar != Scalar::float32 && column->scalar != Scalar::float64)) return;
    places_.t0 = static_cast<std::size_t>(column - columns_.begin());
    ns_per_t0_ = static_cast<double>(ps_per_unit) / kPsPerNs;
}

void FeatureRows::find_times() {
    auto const field = place_of(input_.fields, options_.timestamp);
    if (!field) refuse(options_.timestamp, "does not exist", "set timestamp to the column of times");
    auto const column = std::ranges::find(columns_, options_.timestamp, &model::Column::path);
    auto const is_time =
        column != columns_.end() && column->values_per_item == 1 &&
        (column->scalar == Scalar::uint64 || column->scalar == Scalar::int64 || column->scalar == Scalar::float64);
    if (!is_time) refuse(options_.timestamp, "is neither uint64, int64 nor float64", "set timestamp");
    auto const& unit = input_.fields[*field].unit;
    ps_per_unit_ = ps_of_unit(unit);
    if (ps_per_unit_ == 0)
        refuse(options_.timestamp, fmt::format("has the unit '{}'", unit), "times need ps, ns, us, ms or s");
    places_.timestamp = static_cast<std::size_t>(column - columns_.begin());
}

void FeatureRows::make_order(std::size_t field) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        bool const is_of_waveform = columns_[i].field_path.front() == field;
        if (is_of_waveform && options_.keep_one_of == 0) continue;
        if (options_.keep_one_of > 1 && i == places_.lengths) continue; // these are others then
        if (options_.keep_one_of > 1 && i == places_.values)
            order_.insert(order_.end(), {kThinnedLengths, kThinnedSamples});
        else
            order_.push_back(i);
    }
    has_energy_ = place_of(input_.fields, "energy").has_value();
    if (!has_energy_) order_.push_back(kEnergies);
    order_.insert(order_.end(), {kTimes, kFlags});
}

void FeatureRows::make_table(std::size_t field) {
    table_ = input_;
    if (options_.keep_one_of > 1) make_list(table_.fields[field]);
    if (options_.keep_one_of == 0) table_.fields.erase(table_.fields.begin() + static_cast<std::ptrdiff_t>(field));
    auto const add = [&](std::string name, Scalar scalar, char const* unit, char const* description) {
        table_.fields.push_back({.name = std::move(name), .scalar = scalar, .unit = unit, .description = description});
    };
    if (!has_energy_)
        add("energy", Scalar::float32, "ADC ns", "integral of the pulse over the gate, less the baseline");
    add(free_name(input_, "time"), may_be_negative() ? Scalar::int64 : Scalar::uint64, "ps",
        "of the pulse: a constant fraction of its edge, on the clock of the timestamps");
    add(free_name(input_, "flags"), Scalar::uint16, "",
        "of the pulse: 1 saturated, 2 piled up, 4 followed by another one, 8 unsteady baseline, 16 no pulse, 32 cut");
}

source::Batch FeatureRows::take(source::Batch const& batch) {
    THALWEG_ASSERT(batch.columns.size() == columns_.size(), "a batch has the columns of its table");
    split(batch);
    measure(batch);
    if (options_.keep_one_of > 1) thin();
    auto const made = [&](std::size_t column) -> std::span<std::byte const> {
        switch (column) {
        case kThinnedLengths:
            return std::as_bytes(std::span(thinned_lengths_));
        case kThinnedSamples:
            return thinned_samples_;
        case kEnergies:
            return std::as_bytes(std::span(energies_));
        case kTimes:
            return std::as_bytes(std::span(times_ps_));
        case kFlags:
            return std::as_bytes(std::span(flags_));
        default:
            return batch.columns[column];
        }
    };
    result_.clear();
    for (auto const column : order_) result_.push_back(made(column));
    return {.rows = batch.rows, .columns = result_};
}

// Finds the samples of each row.
void FeatureRows::split(source::Batch const& batch) {
    row_samples_.clear();
    auto rest = batch.columns[places_.values];
    for (std::uint64_t row = 0; row < batch.rows; ++row) {
        auto const samples =
            places_.lengths ? number_at<std::uint64_t>(batch.columns[*places_.lengths], row) : samples_per_row_;
        if (samples > rest.size() / sizeof(std::uint16_t)) {
            base::fail_data({fmt::format("table '{}': row {} of a batch has {} samples", input_.name, row, samples),
                             "the batch has fewer"});
        }
        row_samples_.push_back(rest.first(samples * sizeof(std::uint16_t)));
        rest = rest.subspan(samples * sizeof(std::uint16_t));
    }
}

std::span<std::uint16_t const> FeatureRows::samples_of(std::uint64_t row) {
    auto const bytes = row_samples_[row];
    auto const count = bytes.size() / sizeof(std::uint16_t);
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::uint16_t) == 0)
        return {reinterpret_cast<std::uint16_t const*>(bytes.data()), count};
    aligned_.resize(count);
    std::memcpy(aligned_.data(), bytes.data(), bytes.size());
    return aligned_;
}

void FeatureRows::measure(source::Batch const& batch) {
    energies_.clear(), times_ps_.clear(), flags_.clear();
    flag_counts_ = {};
    for (std::uint64_t row = 0; row < batch.rows; ++row) {
        auto dt_ns = options_.sample_period_ns;
        if (dt_ns == 0) dt_ns = real_at(batch.columns[*places_.dt], columns_[*places_.dt].scalar, row);
        auto const pulse = extractor_->of(samples_of(row), dt_ns);
        auto since_ns = pulse.time_ns;
        if (places_.t0 && (pulse.flags & kNoPulse) == 0)
            since_ns += ns_per_t0_ * real_at(batch.columns[*places_.t0], columns_[*places_.t0].scalar, row);
        if (!(std::abs(since_ns) < kMostNs)) {
            base::fail_data({fmt::format("table '{}': a pulse is {} ns behind its timestamp", input_.name, since_ns),
                             fmt::format("'{}' is no time of a record",
                                         places_.t0 ? columns_[*places_.t0].path : options_.waveform + "/dt")});
        }
        auto const since_ps = std::llround(since_ns * kPsPerNs);
        auto time_ps = timestamp_ps(batch, row) + since_ps;
        if (!may_be_negative()) time_ps = std::max<std::int64_t>(0, time_ps);
        energies_.push_back(static_cast<float>(pulse.energy));
        times_ps_.push_back(time_ps);
        flags_.push_back(pulse.flags);
        flag_counts_.saturated += (pulse.flags & kSaturated) != 0;
        flag_counts_.piled_up += (pulse.flags & kPiledUp) != 0;
        flag_counts_.without_pulse += (pulse.flags & kNoPulse) != 0;
    }
}

// A clock that counts from a start marker is negative before it.
bool FeatureRows::may_be_negative() const { return columns_[places_.timestamp].scalar != Scalar::uint64; }

// Integers keep all digits of a clock that counts for days; a double does not.
std::int64_t FeatureRows::timestamp_ps(source::Batch const& batch, std::uint64_t row) const {
    auto const column = batch.columns[places_.timestamp];
    auto const fail = [&](auto const& stamp) {
        base::fail_data(
            {fmt::format("table '{}', column '{}': {} {} cannot be counted in ps", input_.name, options_.timestamp,
                         stamp, input_.fields[columns_[places_.timestamp].field_path[0]].unit),
             "it takes more than 62 bits"});
    };
    constexpr auto kMost = kMostPs / 2; // so that there is room for the time within the record
    auto const most = kMost / static_cast<std::int64_t>(ps_per_unit_);
    if (columns_[places_.timestamp].scalar == Scalar::float64) {
        auto const stamp = number_at<double>(column, row);
        auto const in_ps = stamp * static_cast<double>(ps_per_unit_);
        if (!(std::abs(in_ps) < static_cast<double>(kMost))) fail(stamp);
        return std::llround(in_ps);
    }
    if (may_be_negative()) {
        auto const stamp = number_at<std::int64_t>(column, row);
        if (stamp > most || stamp < -most) fail(stamp);
        return stamp * static_cast<std::int64_t>(ps_per_unit_);
    }
    auto const stamp = number_at<std::uint64_t>(column, row);
    if (stamp > static_cast<std::uint64_t>(most)) fail(stamp);
    return static_cast<std::int64_t>(stamp * ps_per_unit_);
}

void FeatureRows::thin() {
    thinned_lengths_.clear();
    thinned_samples_.clear();
    for (std::size_t row = 0; row < row_samples_.size(); ++row) {
        bool const is_kept = slice_of(times_ps_[row]) % static_cast<std::int64_t>(options_.keep_one_of) == 0;
        auto const bytes = is_kept ? row_samples_[row] : std::span<std::byte const>();
        thinned_lengths_.push_back(bytes.size() / sizeof(std::uint16_t));
        thinned_samples_.insert(thinned_samples_.end(), bytes.begin(), bytes.end());
    }
}

} // namespace thalweg::features
