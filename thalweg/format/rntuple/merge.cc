#include "thalweg/format/rntuple/merge.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/format/rntuple/envelopes/envelopes.h"
#include "thalweg/format/rntuple/page_copier.h"
#include "thalweg/format/rntuple/writing/file_ending.h"

namespace thalweg::format::rntuple {
namespace {

StoredNTuple const* find(NTupleFile const& file, std::string const& path) {
    auto const found = std::ranges::find(file.ntuples, path, &StoredNTuple::path);
    return found == file.ntuples.end() ? nullptr : &*found;
}

[[noreturn]] void refuse(MergeInput const& first, MergeInput const& other, std::string const& why) {
    base::fail_usage({fmt::format("{} cannot be merged with {}", other.path, first.path), why,
                      "`thalweg convert` writes a file anew, and uproot or RDataFrame change its columns"});
}

std::string described(FieldDescription const& field) {
    return field.type_name.empty() ? "untyped" : "'" + field.type_name + "'";
}

// The first difference of two lists of fields. Of a struct it is that of a member, where there is one.
std::string difference(SchemaDescription const& first, SchemaDescription const& other) {
    std::string of_a_field;
    for (std::size_t i = 0; i < std::min(first.fields.size(), other.fields.size()); ++i) {
        auto const &a = first.fields[i], &b = other.fields[i];
        if (a.name != b.name) return fmt::format("field {} is '{}', not '{}'", i, b.name, a.name);
        if (a.type_name != b.type_name)
            return fmt::format("field '{}' is {}, not {}", a.name, described(b), described(a));
        if (a != b && of_a_field.empty()) of_a_field = fmt::format("field '{}' is described otherwise", a.name);
    }
    if (!of_a_field.empty()) return of_a_field;
    if (first.fields.size() != other.fields.size())
        return fmt::format("it has {} fields, not {}", other.fields.size(), first.fields.size());
    for (std::size_t i = 0; i < std::min(first.columns.size(), other.columns.size()); ++i) {
        auto const &a = first.columns[i], &b = other.columns[i];
        if (a == b) continue;
        return fmt::format("field '{}' is stored in columns of another type ({:#x}, not {:#x})",
                           first.fields.at(a.field).name, static_cast<unsigned>(b.type), static_cast<unsigned>(a.type));
    }
    return "its columns are others";
}

void check_tables(MergeInput const& first, MergeInput const& other) {
    for (auto const& table : other.content.ntuples) {
        if (!find(first.content, table.path))
            refuse(first, other, fmt::format("table '{}' is only in the former", table.path));
    }
    for (auto const& table : first.content.ntuples) {
        auto const* same = find(other.content, table.path);
        if (!same) refuse(first, other, fmt::format("table '{}' is only in the latter", table.path));
        if (same->header.feature_flags != table.header.feature_flags)
            refuse(first, other, fmt::format("table '{}': its feature flags are others", table.path));
        if (same->header.schema != table.header.schema)
            refuse(first, other,
                   fmt::format("table '{}': {}", table.path, difference(table.header.schema, same->header.schema)));
        if (same->extension != table.extension)
            refuse(first, other,
                   fmt::format("table '{}', what was added while it was written: {}", table.path,
                               difference(table.extension, same->extension)));
    }
}

// Its rows in front are stored nowhere: behind rows of another file they would be missing.
void check_no_late_columns(MergeInput const& input) {
    auto const is_late = [](auto const& column) { return column.first_element.value_or(0) > 0; };
    for (auto const& table : input.content.ntuples) {
        if (std::ranges::any_of(table.extension.columns, is_late)) {
            base::fail_usage({fmt::format("{} cannot be merged", input.path),
                              fmt::format("columns of table '{}' were added behind its first row", table.path),
                              "`thalweg convert` writes it anew"});
        }
    }
}

// Columns that hold the same elements, each in some clusters: representations of one field. Each is told by the first.
std::vector<std::size_t> first_representations(StoredNTuple const& table) {
    auto columns = table.header.schema.columns;
    columns.insert(columns.end(), table.extension.columns.begin(), table.extension.columns.end());
    std::vector<std::size_t> firsts(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto const same_representation = [&](auto const& each) {
            return each.field == columns[i].field && each.representation == columns[i].representation;
        };
        auto place = std::count_if(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(i),
                                   same_representation); // of the column within its representation
        firsts[i] = i;
        for (std::size_t k = 0; k < i; ++k) {
            if (columns[k].field != columns[i].field || columns[k].representation != 0) continue;
            if (place-- == 0) firsts[i] = k;
        }
    }
    return firsts;
}

// Numbers the rows and elements of one table on, from file to file.
class TableMerger {
  public:
    TableMerger(StoredNTuple const& first, std::uint64_t header_checksum)
        : name_(first.path), list_{header_checksum, {}}, same_as_(first_representations(first)),
          elements_(same_as_.size()) {}

    void add(storage::Storage const& file, StoredNTuple& table, PageCopier& copier,
             std::function<void()> const& while_copying) {
        for (auto& cluster : table.clusters) {
            if (while_copying) while_copying();
            auto const what = fmt::format("table '{}', cluster at row {}", name_, cluster.first_entry);
            if (cluster.columns.size() > elements_.size())
                base::fail_data({file.path() + ", " + what + " cannot be copied", "it has too many columns"});
            copier.copy(file, cluster, what);
            cluster.first_entry = rows_;
            rows_ += cluster.entries;
            number(cluster);
            list_.clusters.push_back(std::move(cluster));
        }
    }

    PageList list() && { return std::move(list_); }
    MergedTable told() const { return {name_, rows_, list_.clusters.size(), pages_}; }

  private:
    void number(ClusterDescription& cluster) {
        for (std::size_t i = 0; i < cluster.columns.size(); ++i) {
            auto& column = cluster.columns[i];
            if (column.suppressed) continue;
            THALWEG_ASSERT(same_as_[i] <= i, "a representation counts with the first one of its column");
            auto& elements = elements_[same_as_[i]];
            column.first_element = elements;
            for (auto const& page : column.pages) elements += page.elements;
            pages_ += column.pages.size();
        }
    }

    std::string name_;
    PageList list_;
    std::vector<std::size_t> same_as_;
    std::vector<std::uint64_t> elements_;
    std::uint64_t rows_ = 0;
    std::uint64_t pages_ = 0;
};

NamedText text_of(MergedText const& text, StoredUnits const& units, FileSeal const& seal) {
    return text.head ? run_text(*text.head, text.metadata, true, units, seal) : text.text;
}

// The tables of a file, each by its first appearance.
using Firsts = std::vector<StoredNTuple const*>;

FileParts parts_of(Firsts const& firsts, MergedText const& text) {
    FileParts parts;
    std::vector<TableSkeleton> tables;
    for (auto const* table : firsts) {
        auto envelope = to_envelope(table->header);
        parts.header_checksums.push_back(envelope_checksum(envelope));
        tables.push_back({table->path, table->header.description, std::move(envelope)});
    }
    parts.skeleton = make_skeleton(text.seed + ".root", tables, text_of(text, {}, {}), text.seed, text.created_s);
    return parts;
}

} // namespace

std::unique_ptr<storage::Storage> MergeInput::open() const {
    auto file = std::make_unique<storage::SteadyFile>(path);
    if (file->state() != state)
        base::fail_data({path + " cannot be merged", "it has changed meanwhile", "is another program writing it?"});
    file->hold();
    return file;
}

MergeInput read_input(std::string const& path) {
    storage::SteadyFile file(path);
    return {path, file.state(), read_ntuples(file)};
}

void check_alike(std::vector<MergeInput> const& inputs) {
    for (auto const& input : inputs) {
        if (input.content.ntuples.empty())
            base::fail_usage({input.path + " cannot be merged", "there is no RNTuple in it"});
        check_no_late_columns(input);
        check_tables(inputs.front(), input);
    }
}

MergedTables merge(std::vector<MergeInput>& inputs, std::optional<MergeInput>& beside, storage::Storage& out,
                   MergedText const& text, std::function<void()> const& while_copying) {
    Firsts firsts;
    for (auto const& table : inputs.front().content.ntuples) firsts.push_back(&table);
    auto const in_inputs = firsts.size();
    if (beside) {
        for (auto const& table : beside->content.ntuples) firsts.push_back(&table);
    }
    auto const parts = parts_of(firsts, text);
    out.write(0, parts.skeleton.bytes);
    PageCopier copier(out, parts.skeleton.bytes.size(), text.created_s);
    std::vector<TableMerger> tables;
    for (std::size_t i = 0; i < firsts.size(); ++i) tables.emplace_back(*firsts[i], parts.header_checksums[i]);
    auto const add = [&](MergeInput& input, std::size_t first, std::size_t end) {
        auto const file = input.open();
        for (auto i = first; i < end; ++i) {
            auto const found = std::ranges::find(input.content.ntuples, firsts[i]->path, &StoredNTuple::path);
            tables[i].add(*file, *found, copier, while_copying);
        }
    };
    for (auto& input : inputs) add(input, 0, in_inputs);
    if (beside) add(*beside, in_inputs, firsts.size());
    BlobWriter writer(out, copier.finish(), text.created_s);
    FileEnding ending(out, parts, writer, text.created_s);
    MergedTables merged{{}, copier.copied_bytes(), 0};
    for (std::size_t i = 0; i < tables.size(); ++i) {
        merged.tables.push_back(tables[i].told());
        ending.add_table(std::move(tables[i]).list(), firsts[i]->extension);
    }
    auto const units = append_units(text.units, writer);
    merged.file_bytes = std::move(ending).finish([&](FileSeal const& seal) { return text_of(text, units, seal); });
    return merged;
}

} // namespace thalweg::format::rntuple
