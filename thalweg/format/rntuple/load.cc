#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/format/rntuple/format.h"
#include "thalweg/format/rntuple/reading/load_table.h"
#include "thalweg/format/rntuple/reading/ntuple_file.h"
#include "thalweg/format/rntuple/schema/schema.h"

namespace thalweg::format::rntuple {
namespace {

constexpr char const* kWhyNoTree =
    "it is a TTree, which tw.open and `thalweg convert` read where uproot is installed: pip install 'thalweg[uproot]'";

void leave_out(model::RunMap& map, NTupleFile const& file) {
    map.left_out.insert(map.left_out.end(), file.others_versions.begin(), file.others_versions.end());
    map.left_out.insert(map.left_out.end(), file.others.begin(), file.others.end());
    for (auto const& tree : file.trees) map.left_out.push_back({tree, kWhyNoTree, model::LeftOut::Reason::tree});
}

// One physical column for each of ours, in the same order.
model::RunMap load_own(NTupleFile& file) {
    model::RunMap map;
    map.head = std::move(file.text->head);
    map.metadata = std::move(file.text->metadata);
    map.closed = file.text->closed;
    for (std::size_t t = 0; t < map.head.schema.tables.size(); ++t) {
        auto const& name = map.head.schema.tables[t].name;
        auto const found =
            std::find_if(file.ntuples.begin(), file.ntuples.end(), [&](auto const& each) { return each.path == name; });
        if (found == file.ntuples.end())
            base::fail_data({fmt::format("table '{}' cannot be read", name), "it is not there"});
        std::vector<ForeignTable::Source> sources;
        for (auto const& column : map.head.columns[t]) {
            sources.push_back({{{sources.size(), "", std::nullopt}}, column.role == model::Column::Role::lengths});
        }
        map.tables.push_back(load_table(*found, map.head.columns[t], sources));
    }
    return map;
}

model::RunMap load_foreign(NTupleFile const& file) {
    model::RunMap map;
    for (auto const& ntuple : file.ntuples) {
        auto table = read_table(ntuple.path, ntuple.header, whole_schema(ntuple));
        map.tables.push_back(load_table(ntuple, table.columns, table.sources));
        map.head.schema.tables.push_back(std::move(table.table));
        map.head.columns.push_back(std::move(table.columns));
        map.head.layouts.push_back(std::move(table.layout));
        map.left_out.insert(map.left_out.end(), table.left_out.begin(), table.left_out.end());
    }
    return map;
}

} // namespace

model::RunMap RNTupleFormat::load(storage::Storage const& file) const {
    auto ntuples = read_ntuples(file);
    if (is_own(ntuples)) {
        auto const units = std::move(ntuples.text->units);
        auto map = load_own(ntuples);
        leave_out(map, ntuples);
        try {
            map.units = read_units(file, units);
        } catch (base::DataError const& error) {
            map.units_fault = error.what();
        }
        return map;
    }
    auto map = load_foreign(ntuples);
    leave_out(map, ntuples);
    if (map.tables.empty() && map.left_out.empty())
        base::fail_data({file.path() + " cannot be read", "there is no RNTuple in it"});
    return map;
}

} // namespace thalweg::format::rntuple
