// Random descriptions, for tests.
#pragma once

#include <limits>
#include <random>
#include <string>

#include "thalweg/format/rntuple/envelopes/descriptions.h"

namespace thalweg::format::rntuple {

class RandomDescriptions {
  public:
    explicit RandomDescriptions(unsigned seed) : engine_(seed) {}

    std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }

    Header header() { return {0, text(), text(), text(), schema()}; }

    PageList page_list() {
        PageList list{engine_(), {}};
        list.clusters.resize(below(4));
        auto const columns = below(4);
        for (auto& cluster : list.clusters) {
            cluster.first_entry = engine_();
            cluster.entries = engine_() >> 8;
            for (std::uint64_t i = 0; i < columns; ++i) cluster.columns.push_back(range());
        }
        return list;
    }

    Footer footer() {
        Footer footer{0, engine_(), schema(), {}};
        for (auto count = below(3); count > 0; --count) {
            footer.groups.push_back({engine_(), engine_(), number32(), {engine_(), locator()}});
        }
        return footer;
    }

  private:
    std::uint32_t number32() { return static_cast<std::uint32_t>(engine_()); }
    bool coin() { return below(2) == 0; }
    std::string text() { return std::string(below(8), 'a') + (coin() ? "\xc2\xb5" : ""); }

    Locator locator() {
        auto const small = std::numeric_limits<std::int32_t>::max();
        return {engine_(), coin() ? below(small) + 1 : below(2) + small};
    }

    SchemaDescription schema() {
        SchemaDescription schema;
        auto const fields = static_cast<std::uint32_t>(below(5));
        for (std::uint32_t i = 0; i < fields; ++i) {
            FieldDescription field{
                number32(), number32(), number32() % fields, static_cast<FieldRole>(below(6)), text(), text(),
                text(),     text()};
            if (coin()) field.array_size = engine_();
            if (coin()) field.projected_from = number32() % fields;
            if (coin()) field.type_checksum = number32();
            field.struct_of_arrays = coin();
            schema.fields.push_back(field);
        }
        auto const columns = fields == 0 ? 0 : static_cast<std::uint32_t>(below(5));
        for (std::uint32_t i = 0; i < columns; ++i) {
            ColumnDescription column{static_cast<ColumnType>(below(40)), static_cast<std::uint16_t>(below(100)),
                                     number32() % fields, static_cast<std::uint16_t>(below(3))};
            if (coin()) column.first_element = static_cast<std::int64_t>(engine_());
            if (coin()) column.range = {-1e-5, 1.0};
            schema.columns.push_back(column);
            if (coin()) schema.aliases.push_back({number32() % (i + 1), number32() % fields});
        }
        for (auto count = below(2); count > 0; --count) schema.extra_types.push_back({0, number32(), text(), text()});
        return schema;
    }

    ColumnRange range() {
        if (coin()) return {{}, 0, 0, true};
        ColumnRange range{{}, engine_() >> 1, number32(), false};
        for (auto count = below(3); count > 0; --count) {
            range.pages.push_back({static_cast<std::uint32_t>(below(1000) + 1), coin(), locator()});
        }
        return range;
    }

    std::mt19937_64 engine_;
};

} // namespace thalweg::format::rntuple
