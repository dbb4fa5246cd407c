#include "thalweg/record/recorded.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "thalweg/base/error.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/format/hdf5/files/format.h"

namespace thalweg::record {
namespace {

source::RowSet read_table(dataset::Reader const& reader, std::size_t table) {
    source::RowSet set{.table = reader.head().schema.tables[table], .rows = reader.rows(table)};
    auto const columns = model::flatten(set.table);
    std::vector<dataset::ItemRange> items; // by column; columns inside a list come after its lengths
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto const parent = columns[i].parent;
        items.push_back(parent ? reader.elements(table, *parent, items[*parent]) : dataset::ItemRange{0, set.rows});
        auto& bytes = set.columns.emplace_back(items[i].count * columns[i].item_bytes());
        reader.read(table, i, items[i], bytes);
    }
    return set;
}

std::vector<source::RowSet> read_tables(dataset::Reader const& reader) {
    std::vector<source::RowSet> sets;
    for (std::size_t i = 0; i < reader.tables().size(); ++i) sets.push_back(read_table(reader, i));
    return sets;
}

constexpr std::uint64_t kBeginBytes = 2; // which a header of CoMPASS takes

bool is_compass_name(std::string const& path) {
    auto extension = std::filesystem::path(path).extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    return extension == ".bin";
}

bool is_hdf5_name(std::string const& path) {
    auto const extension = std::filesystem::path(path).extension();
    return extension == ".h5" || extension == ".hdf5" || extension == ".lh5";
}

enum class FileContent : std::uint8_t { compass, hdf5, unknown };

bool is_regular_file(std::string const& path) {
    std::error_code error;
    auto const kind = std::filesystem::status(path, error).type();
    if (error && kind != std::filesystem::file_type::not_found)
        base::fail_system({"cannot look at " + path}, error.value());
    return kind == std::filesystem::file_type::regular;
}

// The bytes tell the kind. The name tells it only if they tell nothing: of a later file of a split run, which has no
// header, of a damaged file, and of a pipe, whose bytes can be read once.
FileContent content_of(std::string const& path, source::CompassOptions const& compass) {
    if (is_regular_file(path)) {
        auto const file = storage::open_file_storage(path, storage::OpenMode::read_only, storage::Engine::posix);
        if (format::hdf5::files::is_hdf5(*file)) return FileContent::hdf5;
        std::vector<std::byte> begin(std::min(file->size(), kBeginBytes));
        file->read(0, begin);
        if (source::begins_like_compass(begin)) return FileContent::compass;
    }
    if (is_hdf5_name(path)) return FileContent::hdf5;
    return is_compass_name(path) || compass.header ? FileContent::compass : FileContent::unknown;
}

} // namespace

std::vector<source::RowSet> read_row_sets(std::string const& path) { return read_tables(*dataset::Reader::open(path)); }

std::unique_ptr<source::Source> open_recorded(std::string const& path, source::ReplayOptions options,
                                              source::CompassOptions const& compass) {
    options.metadata.insert({"input", std::filesystem::absolute(path).lexically_normal().string()});
    auto const content = content_of(path, compass);
    if (content == FileContent::compass) {
        options.metadata.insert({"clock_domain", "the digitizer's own clock: ps since start of run; not UTC"});
        auto rows = source::read_compass(path, compass);
        if (!rows.cut.empty()) options.left_out.push_back({"the end of the file", rows.cut});
        if (rows.tables.empty())
            base::fail_data({path + " cannot be replayed", "it is a CoMPASS file without a record", ""});
        return source::make_replay(std::move(rows.tables), options);
    }
    if (content == FileContent::unknown) {
        base::fail_usage({path + " cannot be replayed", "it is of no known format",
                          "give a CoMPASS file (.BIN) or an HDF5 file (.h5, .hdf5, .lh5)"});
    }
    if (compass.header)
        base::fail_usage({path + " has no CoMPASS header", "it is an HDF5 file", "leave --compass-header out"});
    auto const reader = dataset::Reader::open(path);
    auto const clock = reader->metadata().find("clock_domain");
    if (clock != reader->metadata().end()) options.metadata.insert(*clock);
    options.left_out = reader->left_out();
    if (reader->is_open_run())
        options.left_out.push_back({"the end of the run", "it is not complete: no process has closed it yet"});
    options.attributes = reader->head().schema.attributes;
    options.groups = reader->head().schema.groups;
    return source::make_replay(read_tables(*reader), options);
}

} // namespace thalweg::record
