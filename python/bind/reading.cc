#include <algorithm>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "buffer.h"
#include "record_class.h"
#include "signals.h"
#include "thalweg/base/parallel.h"
#include "thalweg/base/scratch_budget.h"
#include "thalweg/checkpoint/head.h"
#include "thalweg/checkpoint/verify.h"
#include "thalweg/dataset/complete/numbered_images.h"
#include "thalweg/dataset/read/follower.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/read/run_writers.h"
#include "thalweg/dataset/read/verify.h"
#include "thalweg/storage/far_file.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;
using namespace dataset;
using WithoutGil = nb::call_guard<nb::gil_scoped_release>;

void read(Reader const& reader, std::size_t table, std::size_t column, std::uint64_t first, std::uint64_t count,
          nb::handle out, unsigned threads) {
    Buffer const buffer(out, PyBUF_WRITABLE);
    nb::gil_scoped_release const released;
    reader.read(table, column, {first, count}, buffer.bytes(), {.threads = threads});
}

// `read_ranges` takes a list of (offset, size) and returns as many objects with bytes. Any thread may call it.
std::unique_ptr<Reader> open_far(std::string name, std::uint64_t size_bytes, nb::object read_ranges) {
    // The last copy may be destroyed in a thread that does not hold the GIL.
    std::shared_ptr<nb::object> const call(new nb::object(std::move(read_ranges)), [](nb::object* object) {
        nb::gil_scoped_acquire const acquired;
        delete object;
    });
    auto read = [call](std::vector<storage::ByteRange> const& ranges) {
        nb::gil_scoped_acquire const acquired;
        nb::list wanted;
        for (auto const& range : ranges) wanted.append(nb::make_tuple(range.offset, range.size_bytes));
        std::vector<std::string> given;
        for (nb::handle const each : (*call)(wanted)) {
            Buffer const buffer(each);
            given.emplace_back(reinterpret_cast<char const*>(buffer.bytes().data()), buffer.bytes().size());
        }
        return given;
    };
    auto file = std::make_unique<storage::FarFile>(std::move(name), size_bytes, std::move(read));
    nb::gil_scoped_release const released;
    return Reader::open(std::move(file), true);
}

// Returns device, inode, size and time of modification (ns), or None.
std::optional<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::int64_t>>
tuple_of(std::optional<storage::FileStamp> const& state) {
    if (!state) return std::nullopt;
    return std::tuple(state->device, state->inode, state->size_bytes, state->mtime_ns);
}

// Fills `out` from `offset` on, up to the end of the image. Returns the number of bytes.
std::size_t read_image(FileImage const& image, std::uint64_t offset, nb::handle out) {
    Buffer const buffer(out, PyBUF_WRITABLE);
    nb::gil_scoped_release const released;
    auto const size = image.file->size();
    auto const count = std::min<std::uint64_t>(buffer.bytes().size(), size - std::min(size, offset));
    image.file->read(offset, buffer.bytes().first(count));
    return count;
}

std::optional<std::shared_ptr<FileImage>> optional_of(std::shared_ptr<FileImage const> image) {
    if (!image) return std::nullopt;
    return std::const_pointer_cast<FileImage>(std::move(image));
}

void bind_image(nb::module_& module) {
    nb::class_<FileImage>(module, "FileImage")
        .def_static("of", image_of, nb::arg("path"), WithoutGil())
        .def_prop_ro("size", [](FileImage const& image) { return image.file->size(); })
        .def("read_into", read_image, nb::arg("offset"), nb::arg("out"))
        .def_prop_ro("state", [](FileImage const& image) { return tuple_of(image.state); })
        .def_prop_ro("is_open_run", [](FileImage const& image) { return image.unfinished.has_value(); })
        .def_prop_ro("is_written",
                     [](FileImage const& image) { return image.unfinished && image.unfinished->is_written; })
        .def_prop_ro("run_id",
                     [](FileImage const& image) { return image.unfinished ? image.unfinished->run_id : std::string(); })
        .def_prop_ro("report", [](FileImage const& image) {
            return image.unfinished ? std::optional(image.unfinished->report) : std::nullopt;
        });
    nb::class_<NewestImage>(module, "NewestImage")
        .def_ro("number", &NewestImage::number)
        .def_ro("size_bytes", &NewestImage::size_bytes)
        .def_prop_ro("unfinished", [](NewestImage const& newest) { return optional_of(newest.unfinished); });
    nb::class_<NumberedImages>(module, "NumberedImages")
        .def(nb::init<>())
        .def("newest", &NumberedImages::newest, nb::arg("path"), WithoutGil())
        .def(
            "find",
            [](NumberedImages& images, std::uint64_t number, std::string const& path) {
                return optional_of(images.find(number, path));
            },
            nb::arg("number"), nb::arg("path"), WithoutGil());
}

// `progress` is called with the fraction that is done, from any thread, one call at a time. A checkpoint is read twice:
// as datasets, and as its record says.
Verification verify_file(std::string const& path, unsigned threads,
                         std::optional<std::function<void(double)>> const& progress) {
    auto const tell = [&, check = signal_check()](double share) {
        if (progress) (*progress)(share);
        check();
    };
    std::optional<double> share_of_datasets; // asked for once the file is open
    auto found = dataset::verify(path, threads, [&](double share) {
        if (!share_of_datasets) {
            auto const file = storage::open_file_storage(path, storage::OpenMode::read_only);
            share_of_datasets = checkpoint::is_checkpoint(*file) ? 0.5 : 1.0;
        }
        tell(*share_of_datasets * share);
    });
    auto const threads_used = threads > 0 ? threads : base::usable_cores();
    if (auto checkpoint = checkpoint::verify(path, threads_used, [&](double share) { tell(0.5 + 0.5 * share); })) {
        found.pages = checkpoint->pieces; // its record has checksums of all that the datasets have
        found.pages_without_checksum = 0;
        std::erase_if(found.left_out, [](auto const& each) { return each.path == "/thalweg"; }); // the record
        found.faults += checkpoint->faults.size();
        found.messages.insert(found.messages.end(), checkpoint->faults.begin(), checkpoint->faults.end());
    }
    return found;
}

} // namespace

void bind_reading(nb::module_& module) {
    bind_image(module);
    nb::class_<Reader>(module, "Reader")
        .def_static("open", nb::overload_cast<std::string const&, bool>(&Reader::open), nb::arg("path"),
                    nb::arg("even_without_tables") = false, WithoutGil())
        .def_static("open_far", open_far, nb::arg("name"), nb::arg("size_bytes"), nb::arg("read_ranges"))
        .def_prop_ro("path", &Reader::path)
        .def_prop_ro("is_far", &Reader::is_far)
        .def_prop_ro("is_open_run", &Reader::is_open_run)
        .def_prop_ro("state", [](Reader const& reader) { return tuple_of(reader.state()); })
        .def("check_state", &Reader::check_state)
        .def_prop_ro("id", [](Reader const& reader) { return reader.head().id; })
        .def_prop_ro("schema", [](Reader const& reader) { return model::to_json(reader.head().schema); })
        .def_prop_ro("metadata", &Reader::metadata)
        .def_prop_ro("keys_per_group", [](Reader const& reader) { return reader.head().keys_per_group; })
        .def_prop_ro("knobs", [](Reader const& reader) { return reader.head().knobs; })
        .def_prop_ro("engine", [](Reader const& reader) { return reader.head().engine; })
        .def_prop_ro("left_out", &Reader::left_out)
        .def_prop_ro("notes", &Reader::notes)
        .def_prop_ro("report", &Reader::report)
        .def("rows", &Reader::rows, nb::arg("table"))
        .def("units", &Reader::units)
        .def(
            "elements",
            [](Reader const& reader, std::size_t table, std::size_t column, std::uint64_t first, std::uint64_t count) {
                auto const range = reader.elements(table, column, {first, count});
                return std::pair(range.first, range.count);
            },
            nb::arg("table"), nb::arg("column"), nb::arg("first"), nb::arg("count"), WithoutGil())
        .def("page_end", &Reader::page_end, nb::arg("table"), nb::arg("column"), nb::arg("item"), WithoutGil())
        .def("read", read, nb::arg("table"), nb::arg("column"), nb::arg("first"), nb::arg("count"), nb::arg("out"),
             nb::arg("threads"))
        .def("bytes_read", &Reader::bytes_read);
    nb::class_<RowSource>(module, "RowSource")
        .def_ro("node", &RowSource::node)
        .def_ro("producer", &RowSource::producer)
        .def_ro("first_row", &RowSource::first_row);
    bind_struct<&NewRows::table, &NewRows::source, &NewRows::first_row, &NewRows::rows>(module, "NewRows");
    nb::class_<Follower>(module, "Follower")
        .def(nb::init<std::string>(), nb::arg("path"))
        .def("look", &Follower::look, WithoutGil())
        .def_prop_ro("reader",
                     [](Follower const& follower) { return std::const_pointer_cast<Reader>(follower.reader()); })
        .def_prop_ro("is_over", &Follower::is_over);
    module.def("fail_without_tables", &fail_without_tables, nb::arg("path"), nb::arg("reasons"));
    module.def("read_memory_bytes", &base::read_memory_bytes);
    module.def("set_read_memory_bytes", &base::set_read_memory_bytes, nb::arg("size_bytes"));
    module.def(
        "writers_of",
        [](std::string const& path) {
            auto const reader = Reader::open(path);
            if (!reader->is_open_run() || reader->head().id.empty()) return std::string("none");
            auto const writers = dataset::writers_of(*reader);
            if (writers.state == WriterState::unknown) return writers.why;
            if (writers.state == WriterState::gone) return std::string("gone");
            return std::string(writers.state == WriterState::alive ? "alive" : "ended");
        },
        nb::arg("path"), WithoutGil());
    module.def("verify", verify_file, nb::arg("path"), nb::arg("threads"), nb::arg("progress") = nb::none(),
               WithoutGil());
}

} // namespace thalweg::bind
