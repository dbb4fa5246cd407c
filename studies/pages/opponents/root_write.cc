// Usage: root_write FOLDER PATH COMPRESSION [CLUSTER_BYTES]. ROOT writes the flat columns of a folder as an RNTuple,
// row by row.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ROOT/REntry.hxx>
#include <ROOT/RField.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleReader.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "studies/driver/clocks.h"
#include "studies/driver/peak_memory.h"

namespace {

struct Column {
    std::string path, file, kind, type;
    long parent = -1;
    std::size_t items = 0;
    void const* data = nullptr;
};

void fail(std::string const& text) {
    std::fprintf(stderr, "%s\n", text.c_str());
    std::exit(1);
}

// The file is mapped, so that it does not count as memory of the writer.
void const* map(std::string const& path) {
    auto const size = std::filesystem::file_size(path);
    if (size == 0) return nullptr;
    int const fd = ::open(path.c_str(), O_RDONLY);
    auto* const data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    ::close(fd);
    if (data == MAP_FAILED) fail("cannot map " + path);
    return data;
}

std::size_t read_columns(std::string const& folder, std::vector<Column>& columns) {
    std::ifstream names(folder + "/columns.txt");
    std::size_t rows = 0;
    names >> rows;
    for (Column each; names >> each.path >> each.file >> each.kind >> each.type >> each.parent >> each.items;) {
        each.data = map(folder + "/" + each.file);
        columns.push_back(each);
    }
    return rows;
}

// The fields of the model, the places of their values, and how they get those of the next row.
struct Table {
    std::vector<Column> const& columns;
    std::unique_ptr<ROOT::RNTupleModel> model = ROOT::RNTupleModel::CreateBare();
    std::vector<std::pair<std::string, void*>> values;
    std::vector<std::function<void(std::size_t)>> next;

    template <class Value> void bind(Column const& column, Value* value) {
        model->AddField(std::make_unique<ROOT::RField<Value>>(column.path));
        values.emplace_back(column.path, value);
    }

    template <class T> void add(Column const& column) {
        auto const* const items = static_cast<T const*>(column.data);
        if (column.parent < 0) {
            auto* const value = new T;
            bind(column, value);
            next.emplace_back([=](std::size_t row) { *value = items[row]; });
            return;
        }
        auto const& lists = columns[column.parent];
        auto const* const lengths = static_cast<std::uint64_t const*>(lists.data);
        if (lists.parent < 0) {
            auto* const value = new std::vector<T>;
            bind(lists, value);
            next.emplace_back([=, at = std::size_t{0}](std::size_t row) mutable {
                value->assign(items + at, items + at + lengths[row]);
                at += lengths[row];
            });
            return;
        }
        auto const& outer = columns[lists.parent];
        auto const* const outer_lengths = static_cast<std::uint64_t const*>(outer.data);
        auto* const value = new std::vector<std::vector<T>>;
        bind(outer, value);
        next.emplace_back([=, at = std::size_t{0}, list = std::size_t{0}](std::size_t row) mutable {
            value->resize(outer_lengths[row]);
            for (auto& inner : *value) {
                inner.assign(items + at, items + at + lengths[list]);
                at += lengths[list++];
            }
        });
    }

    void add_any(Column const& column) {
        auto const& type = column.type;
        if (type == "float32") return add<float>(column);
        if (type == "float64") return add<double>(column);
        if (type == "int8") return add<std::int8_t>(column);
        if (type == "uint8" || type == "bool") return add<std::uint8_t>(column); // bits are no values in vectors
        if (type == "int16") return add<std::int16_t>(column);
        if (type == "uint16") return add<std::uint16_t>(column);
        if (type == "int32") return add<std::int32_t>(column);
        if (type == "uint32") return add<std::uint32_t>(column);
        if (type == "int64") return add<std::int64_t>(column);
        if (type == "uint64") return add<std::uint64_t>(column);
        fail("no type " + type);
    }
};

} // namespace

int main(int count, char** words) {
    if (count < 4) fail("root_write FOLDER PATH COMPRESSION [CLUSTER_BYTES]");
    std::vector<Column> columns;
    auto const rows = read_columns(words[1], columns);
    Table table{columns};
    for (auto const& column : columns) {
        if (column.kind == "values") table.add_any(column);
    }
    ROOT::RNTupleWriteOptions options;
    options.SetCompression(static_cast<std::uint32_t>(std::atoi(words[3])));
    if (count > 4) options.SetApproxZippedClusterSize(std::strtoull(words[4], nullptr, 10));
    thalweg::study::PeakMemory memory;
    auto const begin_cpu_s = thalweg::study::process_cpu_s();
    {
        auto const writer = ROOT::RNTupleWriter::Recreate(std::move(table.model), "events", words[2], options);
        auto const entry = writer->GetModel().CreateBareEntry();
        for (auto const& [name, value] : table.values) entry->BindRawPtr(name, value);
        for (std::size_t row = 0; row < rows; ++row) {
            for (auto& next : table.next) next(row);
            writer->Fill(*entry);
        }
    }
    auto const used_cpu_s = thalweg::study::process_cpu_s() - begin_cpu_s;
    auto const memory_bytes = memory.above_begin_bytes();
    auto const clusters = ROOT::RNTupleReader::Open("events", words[2])->GetDescriptor().GetNClusters();
    std::printf("{\"file_bytes\": %ju, \"memory_bytes\": %ju, \"cpu_s\": %.3f, \"clusters\": %zu}\n",
                std::uintmax_t{std::filesystem::file_size(words[2])}, std::uintmax_t{memory_bytes}, used_cpu_s,
                std::size_t{clusters});
}
