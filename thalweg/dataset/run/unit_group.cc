#include "thalweg/dataset/run/unit_group.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>

#include "thalweg/base/error.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kMostKeysPerGroup = 1'000'000'000;

template <typename Number> void put(std::string& to, Number number) {
    to.append(reinterpret_cast<char const*>(&number), sizeof number);
}

std::string_view take(std::string_view& from, std::size_t size_bytes) {
    if (size_bytes > from.size())
        base::fail_data({"the list of the work units of a group cannot be read", "it is damaged"});
    auto const taken = from.substr(0, size_bytes);
    from.remove_prefix(size_bytes);
    return taken;
}

template <typename Number> Number take(std::string_view& from) {
    Number number;
    std::memcpy(&number, take(from, sizeof number).data(), sizeof number);
    return number;
}

} // namespace

std::string name_of_group(std::int64_t group, std::uint64_t keys_per_group) {
    if (keys_per_group == 1) return fmt::format("{}", group);
    // At the ends of the integers a group has fewer keys.
    using Limits = std::numeric_limits<std::int64_t>;
    std::int64_t first = 0, last = 0;
    if (__builtin_mul_overflow(group, keys_per_group, &first)) first = group < 0 ? Limits::min() : Limits::max();
    bool const is_last = group == Limits::max() || __builtin_mul_overflow(group + 1, keys_per_group, &last);
    return fmt::format("group {} (the keys {} to {})", group, first, is_last ? Limits::max() : last - 1);
}

void set_order(std::string const& path, std::uint64_t keys, model::RunHead& head) {
    if (keys > kMostKeysPerGroup) {
        base::fail_usage({fmt::format("{} cannot have {} keys in a group", path, keys),
                          fmt::format("{} are the most", kMostKeysPerGroup)});
    }
    bool const has_clusters = !head.layouts.empty() && head.layouts[0].cluster_bytes > 0;
    if (keys > 0 && !has_clusters) {
        base::fail_usage({fmt::format("{} cannot be ordered by key", path),
                          "in HDF5 each work unit would be a part of a virtual dataset: 10,000 of them take 5.3 s to "
                          "create, and 0.7 s to read a column",
                          "let its name end in .root, or read the rows of each key where its table of units says"});
    }
    head.keys_per_group = keys;
    for (auto& layout : head.layouts) layout.fixed_cuts = layout.fixed_cuts || keys > 0;
}

void check_same_order(std::string const& path, std::uint64_t asked, model::RunHead const& head) {
    if (asked == 0 || asked == head.keys_per_group) return;
    base::fail_usage({"cannot go on with the run at " + path,
                      fmt::format("it has groups of {} keys, and not of {} (0: it is not ordered by key)",
                                  head.keys_per_group, asked),
                      "leave the order to what it was created with"});
}

std::string encode_group(std::vector<UnitOfGroup> const& units) {
    std::string list;
    put(list, static_cast<std::uint32_t>(units.size()));
    for (auto const& unit : units) {
        put(list, unit.key);
        put(list, static_cast<std::uint32_t>(unit.summary.size()));
        put(list, static_cast<std::uint32_t>(unit.rows.size() - std::ranges::count(unit.rows, std::uint64_t{0})));
        for (std::uint32_t table = 0; table < unit.rows.size(); ++table) {
            if (unit.rows[table] == 0) continue;
            put(list, table);
            put(list, unit.rows[table]);
        }
        list += unit.summary;
    }
    return list;
}

std::vector<UnitOfGroup> decode_group(std::string_view list, std::size_t tables) {
    std::vector<UnitOfGroup> units;
    for (auto count = take<std::uint32_t>(list); count > 0; --count) {
        auto& unit = units.emplace_back();
        unit.key = take<std::int64_t>(list);
        unit.rows.resize(tables);
        auto const summary_bytes = take<std::uint32_t>(list);
        for (auto parts = take<std::uint32_t>(list); parts > 0; --parts) {
            auto const table = take<std::uint32_t>(list);
            auto const rows = take<std::uint64_t>(list);
            if (table >= tables)
                base::fail_data({"the list of the work units of a group cannot be read", "it names no such table"});
            unit.rows[table] = rows;
        }
        unit.summary = take(list, summary_bytes);
    }
    return units;
}

} // namespace thalweg::dataset
