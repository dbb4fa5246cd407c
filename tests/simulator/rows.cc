#include "tests/simulator/rows.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace thalweg::simulator {
namespace {

using model::Field;
using model::Kind;
using model::Scalar;

constexpr std::uint64_t kMostElements = 5;

Scalar random_scalar(Random& random) {
    return random.one_of({Scalar::boolean, Scalar::int8, Scalar::int16, Scalar::int32, Scalar::int64, Scalar::uint8,
                          Scalar::uint16, Scalar::uint32, Scalar::uint64, Scalar::float32, Scalar::float64});
}

Field random_field(Random& random, std::string name, unsigned depth) {
    Field field{std::move(name), Kind::scalar, random_scalar(random), {}, {}, "", ""};
    auto const kind = random.below(10);
    if (kind < 3) {
        field.shape = {random.between(1, kind == 0 ? 100 : 6)};
    } else if (kind < 6 && depth < 3) {
        field.kind = Kind::list;
        field.members = {random_field(random, "", depth + 1)};
    } else if (kind == 6 && depth < 3) {
        field.kind = Kind::record;
        field.members = {random_field(random, "a", depth + 1), random_field(random, "b", depth + 1)};
    } else if (kind == 7) {
        field.kind = Kind::string;
    }
    return field;
}

std::uint64_t draw(std::uint64_t table, RowName name, std::size_t column, std::uint64_t index) {
    return mix(name.word() * 0x100000001b3 + (table << 40 | column << 20 | index));
}

// Some columns compress well, some not at all.
void put_value(std::vector<std::byte>& out, model::Column const& column, std::uint64_t value, std::size_t index) {
    if (index % 2 == 1) value &= 0x0f0f;
    if (column.scalar == Scalar::boolean) value &= 1;
    if (column.path.ends_with("/*") && column.scalar == Scalar::uint8) value = 'a' + value % 26; // or a string
    auto const bytes = std::as_bytes(std::span(&value, 1)).first(std::min<std::size_t>(8, size_bytes(column.scalar)));
    out.insert(out.end(), bytes.begin(), bytes.end());
}

// Appends one row to every column.
void put_row(std::vector<model::Column> const& columns, std::uint64_t table, RowName name,
             std::vector<std::vector<std::byte>>& out) {
    std::vector<std::uint64_t> inside(columns.size()); // number of elements in the lists of a lengths column
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto const& column = columns[i];
        auto const values = (column.parent ? inside[*column.parent] : 1) * column.values_per_item;
        for (std::uint64_t k = 0; k < values; ++k) {
            if (i == 0) {
                put_value(out[i], column, name.word(), 0);
            } else if (column.role == model::Column::Role::lengths) {
                auto const length = draw(table, name, i, k) % kMostElements;
                inside[i] += length;
                put_value(out[i], column, length, 0);
            } else {
                put_value(out[i], column, draw(table, name, i, k), i);
            }
        }
    }
}

} // namespace

model::Schema random_schema(Random& random) {
    model::Schema schema;
    auto const tables = random.between(1, 3);
    for (std::uint64_t t = 0; t < tables; ++t) {
        model::Table table{fmt::format("table{}", t), {{"row", Kind::scalar, Scalar::uint64, {}, {}, "", ""}}, ""};
        auto const fields = random.below(random.chance(0.1) ? 12 : 4);
        for (std::uint64_t f = 0; f < fields; ++f)
            table.fields.push_back(random_field(random, fmt::format("field{}", f), 0));
        schema.tables.push_back(std::move(table));
    }
    return schema;
}

Rows::Rows(std::vector<model::Column> const& columns, std::uint64_t table, std::uint64_t who, std::uint64_t first,
           std::uint64_t count)
    : bytes_(columns.size()) {
    for (auto row = first; row < first + count; ++row) put_row(columns, table, {who, row}, bytes_);
}

std::vector<std::span<std::byte const>> Rows::spans() const { return {bytes_.begin(), bytes_.end()}; }

FoundRows read_rows(dataset::Reader const& reader, std::size_t table, Order& order,
                    std::function<void(std::string const&)> const& blame) {
    auto const& columns = reader.head().columns[table];
    auto const rows = reader.rows(table);
    std::vector<std::uint64_t> items(columns.size());
    std::vector<std::vector<std::byte>> found(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto const& parent = columns[i].parent;
        items[i] = parent ? reader.elements(table, *parent, {0, items[*parent]}).count : rows;
        found[i].resize(items[i] * columns[i].item_bytes());
        reader.read(table, i, {0, items[i]}, found[i]);
    }
    FoundRows names;
    std::vector<std::size_t> at(columns.size());
    std::vector<std::vector<std::byte>> expected(columns.size());
    for (std::uint64_t row = 0; row < rows; ++row) {
        std::uint64_t word = 0;
        std::memcpy(&word, found[0].data() + row * sizeof word, sizeof word);
        auto const name = RowName::from(word);
        if (order.empty() || order.back().first != name.who) {
            order.emplace_back(name.who, std::vector<std::uint64_t>{});
            for (std::size_t i = 0; i < columns.size(); ++i)
                order.back().second.push_back(at[i] / size_bytes(columns[i].scalar));
        }
        for (auto& bytes : expected) bytes.clear();
        put_row(columns, table, name, expected);
        for (std::size_t i = 0; i < columns.size(); ++i) {
            auto const size = expected[i].size();
            if (at[i] + size > found[i].size() || std::memcmp(found[i].data() + at[i], expected[i].data(), size) != 0) {
                blame(fmt::format("table {}, row {}, column '{}': a wrong value (row {} of producer {})", table, row,
                                  columns[i].path, name.row, name.who));
                return names;
            }
            at[i] += size;
        }
        names[name.who].push_back(name.row);
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (at[i] != found[i].size())
            blame(fmt::format("table {}, column '{}': there are more items than rows need", table, columns[i].path));
    }
    return names;
}

namespace {

// Finds where the pages of each unit begin, in values from its first one: complete files and open runs count
// differently.
Cuts cuts_of(Order const& order, model::TableMap const& table, std::vector<model::Column> const& columns) {
    Cuts cuts;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto const values = table.columns[i].by_value ? 1 : columns[i].values_per_item;
        std::size_t mine = 0;
        for (auto const& [who, begins] : order) cuts[who].resize(columns.size());
        for (auto const& page : table.columns[i].pages) {
            auto const first = page.first * values;
            while (mine + 1 < order.size() && order[mine + 1].second[i] <= first) ++mine;
            if (!order.empty()) cuts[order[mine].first][i].push_back(first - order[mine].second[i]);
        }
    }
    return cuts;
}

} // namespace

Found read_all(dataset::Reader const& reader, std::function<void(std::string const&)> const& blame) {
    Found found;
    bool const is_ordered = reader.head().keys_per_group > 0;
    for (std::size_t table = 0; table < reader.tables().size(); ++table) {
        Order order;
        found.tables.push_back(read_rows(reader, table, order, blame));
        if (!is_ordered) continue;
        found.cuts.push_back(cuts_of(order, reader.tables()[table], reader.head().columns[table]));
        auto& names = found.order.emplace_back();
        for (auto const& [who, begins] : order) names.push_back(who);
    }
    for (auto const& unit : reader.units()) found.units.push_back(unit.key.integer);
    if (is_ordered && !std::is_sorted(found.units.begin(), found.units.end()))
        blame("the table of units is not in the order of their keys");
    std::sort(found.units.begin(), found.units.end());
    return found;
}

} // namespace thalweg::simulator
