#include "thalweg/record/lane_pump.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/record/append_rows.h"

namespace thalweg::record {
namespace {

// The clock that costs least, with steps of some milliseconds.
std::uint64_t coarse_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * base::kSecondNs + static_cast<std::uint64_t>(time.tv_nsec);
}

void publish(std::int64_t& word, std::int64_t value) { std::atomic_ref(word).store(value, std::memory_order_release); }

// The sum, or the number next to it that there is.
std::int64_t plus(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    return a > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

// The columns that the device hands out.
std::vector<model::Column> const& columns_of(PumpedTable const& table) {
    return table.pulses != nullptr ? table.pulses->columns() : table.producer->columns();
}

std::optional<std::size_t> column_called(std::vector<model::Column> const& columns, std::string_view name) {
    auto const found = std::ranges::find(columns, name, &model::Column::path);
    return found == columns.end() ? std::nullopt : std::optional<std::size_t>(found - columns.begin());
}

// Returns the least and the greatest item. They may lie at any address.
template <class Item> std::pair<Item, Item> bounds(std::span<std::byte const> bytes) {
    auto least = std::numeric_limits<Item>::max(), most = std::numeric_limits<Item>::min();
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(Item)) {
        Item item = 0;
        std::memcpy(&item, bytes.data() + at, sizeof item);
        least = std::min(least, item);
        most = std::max(most, item);
    }
    return {least, most};
}

std::pair<std::int64_t, std::int64_t> bounds_of(std::span<std::byte const> stamps, bool is_unsigned) {
    if (!is_unsigned) return bounds<std::int64_t>(stamps);
    auto const [least, most] = bounds<std::uint64_t>(stamps);
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    return {std::min(least, kMost), std::min(most, kMost)};
}

} // namespace

LanePump::LanePump(source::plug_in::Device& device, std::uint32_t number, BoardPlaces board,
                   std::vector<PumpedTable> tables)
    : device_(device), number_(number), board_(board) {
    for (auto& table : tables) {
        auto& lane = lanes_.emplace_back();
        if (!table.clock.empty()) lane.clock_column = column_called(columns_of(table), table.clock);
        lane.is_unsigned = lane.clock_column && columns_of(table)[*lane.clock_column].scalar == model::Scalar::uint64;
        lane.to = std::move(table);
    }
}

void LanePump::restarted() {
    for (auto& lane : lanes_) lane.is_fresh = true;
}

LanePump::Turn LanePump::run(std::uint64_t timeout_ns, std::uint64_t limit_ns, std::uint64_t duration_ns) {
    Turn turn;
    interrupted_.store(false, std::memory_order_relaxed);
    auto const end_ns = coarse_ns() + duration_ns;
    auto const limit_ms = static_cast<std::int64_t>(limit_ns / base::kMsNs);
    do {
        auto const code = call_next(timeout_ns, limit_ms);
        if (code == THALWEG_NOTHING) return turn;
        if (code < 0) {
            turn.end = code == THALWEG_ENDED      ? End::ended
                       : code == THALWEG_OVERFLOW ? End::overflow
                       : code == THALWEG_REFUSED  ? End::refused
                                                  : End::lost;
            if (batch_.lost != THALWEG_UNKNOWN_COUNT) turn.lost = batch_.lost;
            if (code != THALWEG_ENDED) turn.text = device_.reason(code);
            return turn;
        }
        if (batch_.rows == 0) return turn;
        turn.took_rows = true;
        if (!take(turn)) return turn;
    } while (!interrupted_.load(std::memory_order_relaxed) && coarse_ns() < end_ns);
    return turn;
}

int LanePump::call_next(std::uint64_t timeout_ns, std::int64_t limit_ms) {
    auto& count = word(board_.lane);
    word(board_.lane + 2) = limit_ms;
    publish(word(board_.lane + 1), board_.next_call);
    publish(count, count + 1);
    auto const code = device_.next(number_, timeout_ns, batch_);
    publish(word(board_.lane + 1), 0);
    publish(count, count + 1);
    return code;
}

bool LanePump::take(Turn& turn) {
    auto& lane = lane_of_batch();
    read_batch(lane);
    if (lane.is_fresh) {
        held_ = {.table = lane.to.table, .has_clock = lane.clock_column.has_value()};
        if (held_.has_clock) {
            std::tie(held_.first, held_.last) = bounds_of(columns_[*lane.clock_column], lane.is_unsigned);
        }
        turn.end = End::fresh;
        return false;
    }
    if (lane.clock_column) align(lane, turn);
    append(lane);
    return true;
}

void LanePump::append_held() {
    auto& lane = lane_of_batch();
    lane.is_fresh = false;
    if (lane.clock_column) add_offset(lane, word(board_.offset));
    append(lane);
}

LanePump::Lane& LanePump::lane_of_batch() {
    for (auto& lane : lanes_)
        if (lane.to.table == batch_.table) return lane;
    base::fail_usage({fmt::format("{} handed out rows of table {} in lane {}", device_.name(), batch_.table, number_),
                      "this lane does not have it"});
}

// Sizes are checked by the producer; here is what would not even give spans.
void LanePump::read_batch(Lane const& lane) {
    auto const& table = lane.to.producer->table().name;
    auto const needed = columns_of(lane.to).size();
    if (batch_.columns != needed) {
        base::fail_usage({fmt::format("{} handed out {} columns of table '{}'", device_.name(), batch_.columns, table),
                          fmt::format("it has {}", needed)});
    }
    if (batch_.data == nullptr || batch_.size_bytes == nullptr)
        base::fail_usage({fmt::format("{} handed out no columns of table '{}'", device_.name(), table)});
    columns_.resize(needed);
    for (std::size_t i = 0; i < needed; ++i) {
        if (batch_.data[i] == nullptr && batch_.size_bytes[i] != 0) {
            base::fail_usage({fmt::format("{} handed out {} bytes of column '{}' of table '{}' at NULL", device_.name(),
                                          batch_.size_bytes[i], columns_of(lane.to)[i].path, table)});
        }
        columns_[i] = {static_cast<std::byte const*>(batch_.data[i]), batch_.size_bytes[i]};
    }
    if (lane.clock_column && columns_[*lane.clock_column].size() != batch_.rows * sizeof(std::int64_t)) {
        base::fail_usage({fmt::format("table '{}', column '{}': {} bytes were given", table, lane.to.clock,
                                      columns_[*lane.clock_column].size()),
                          fmt::format("{} items of 8 bytes are needed", batch_.rows)});
    }
}

// A table that has had rows since the start: its clock is aligned already.
void LanePump::align(Lane& lane, Turn& turn) {
    auto const offset = std::atomic_ref(word(board_.offset)).load(std::memory_order_acquire);
    auto const [least, most] = bounds_of(columns_[*lane.clock_column], lane.is_unsigned);
    auto const place = board_.tables + std::size_t{2} * lane.to.table;
    auto const last = word(place + 1);
    if (plus(least, offset) < last) ++turn.backward;
    if (offset != 0) add_offset(lane, offset);
    // Before the rows are appended, so that no row that is in the file is forgotten.
    publish(word(place + 1), std::max(last, plus(most, offset)));
}

void LanePump::add_offset(Lane& lane, std::int64_t offset) {
    if (offset == 0) return;
    auto& column = columns_[*lane.clock_column];
    lane.stamps.resize(column.size() / sizeof(std::uint64_t));
    std::memcpy(lane.stamps.data(), column.data(), column.size());
    for (auto& stamp : lane.stamps) stamp += static_cast<std::uint64_t>(offset);
    column = std::as_bytes(std::span(lane.stamps));
}

void LanePump::append(Lane& lane) {
    if (lane.to.pulses != nullptr)
        lane.to.pulses->append(batch_.rows, columns_);
    else
        append_rows(*lane.to.producer, batch_.rows, columns_, [this] { return waits_for_room_.load(); });
}

} // namespace thalweg::record
