#include "thalweg/dataset/complete/whole_rows.h"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>

#include "thalweg/format/item_reader.h"

namespace thalweg::dataset {

bool is_bad_medium(base::SystemError const& error) { return error.code == EIO || error.code == ENODATA; }

Ranges WholeRows::find() const { return inside(std::nullopt); }

// Returns the items of a list (or of the table) that are whole in every column there.
Ranges WholeRows::inside(std::optional<std::size_t> parent) const {
    std::optional<Ranges> result;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (columns[i].parent != parent) continue;
        auto ranges = of_column(i);
        result = result ? intersect(*result, ranges) : std::move(ranges);
    }
    return result.value_or(Ranges{});
}

// Returns the items of a column that are there; of a lengths column, those whose elements are whole, too. If a length
// is missing, it is not known where later lists begin, so only items in front of the first gap count.
Ranges WholeRows::of_column(std::size_t index) const {
    auto const& column = columns[index];
    auto there = ranges_of(part.columns[index]);
    if (column.role == model::Column::Role::values) return there;
    if (there.empty() || there.front().first != starts[index]) return {};
    auto const elements = inside(index);
    format::ItemReader reader(file, journal, column, layout.columns[index].codec,
                              fmt::format("table '{}', column '{}'", table, column.path));
    std::vector<std::uint64_t> lengths;
    Ranges whole;
    std::uint64_t element = first_element(index);
    std::uint64_t item = starts[index];
    for (auto const& page : part.columns[index]) {
        if (page.first != item) break;
        lengths.resize(page.count * column.values_per_item);
        auto const leave_out = [&](base::Error const& error) {
            notes.push_back(fmt::format("{}: lists from item {} on are left out", error.what(), item));
        };
        try {
            reader.read(part.columns[index], item, page.count, std::as_writable_bytes(std::span(lengths)));
        } catch (base::DataError const& error) {
            leave_out(error);
            break;
        } catch (base::SystemError const& error) {
            if (!is_bad_medium(error)) throw;
            leave_out(error);
            break;
        }
        for (auto length = lengths.begin(); length != lengths.end(); ++item) {
            std::uint64_t sum = 0;
            for (std::uint64_t i = 0; i < column.values_per_item; ++i) sum += *length++;
            if (contains(elements, element, sum)) append_range(whole, item, 1);
            element += sum;
        }
    }
    return whole;
}

// Returns the item with which the elements of the first list begin in the columns inside.
std::uint64_t WholeRows::first_element(std::size_t lengths) const {
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (columns[i].parent == lengths) return starts[i];
    }
    return 0;
}

} // namespace thalweg::dataset
