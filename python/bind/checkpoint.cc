#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "buffer.h"
#include "ranks.h"
#include "record_class.h"
#include "thalweg/checkpoint/restore.h"
#include "thalweg/checkpoint/saving.h"
#include "thalweg/model/schema.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;
using namespace checkpoint;
using WithoutGil = nb::call_guard<nb::gil_scoped_release>;

// A block as (start, shape, strides, array); the data of the array begin with its first element.
Block block_of(nb::handle given, std::vector<Buffer>& buffers) {
    Block block{{nb::cast<PerAxis>(given[0]), nb::cast<PerAxis>(given[1])}};
    block.strides = nb::cast<std::vector<std::int64_t>>(given[2]);
    buffers.emplace_back(given[3], PyBUF_STRIDED_RO);
    block.data = buffers.back().bytes().data();
    return block;
}

// An array as (name, type, shape, codec, blocks).
std::vector<Array> arrays_of(nb::handle given, std::vector<Buffer>& buffers) {
    std::vector<Array> arrays;
    for (auto const each : given) {
        Array array{nb::cast<std::string>(each[0]), model::parse_scalar(nb::cast<std::string>(each[1]))};
        array.shape = nb::cast<PerAxis>(each[2]);
        array.codec = nb::cast<std::string>(each[3]);
        for (auto const block : each[4]) array.blocks.push_back(block_of(block, buffers));
        arrays.push_back(std::move(array));
    }
    return arrays;
}

// What is converted before the ranks agree: it may throw on one of them, which tells the others then (refuse_save).
struct SaveRequest {
    SaveRequest(std::string given_path, nb::handle given_arrays, std::string const& schema, unsigned keep,
                std::uint64_t most_copy_bytes)
        : path(std::move(given_path)), arrays(arrays_of(given_arrays, buffers)) {
        options.attributes = model::schema_from_json(schema).attributes;
        options.keep = keep;
        options.most_copy_bytes = most_copy_bytes;
    }
    SaveRequest(SaveRequest const&) = delete;
    SaveRequest& operator=(SaveRequest const&) = delete;

    std::vector<Buffer> buffers;
    std::string path;
    std::vector<Array> arrays;
    SaveOptions options;
};

// A Saving together with the memory that it reads.
struct PythonSaving {
    PythonSaving(SaveRequest& request, nb::handle ranks) : buffers(std::move(request.buffers)), comm(ranks) {
        nb::gil_scoped_release const released;
        saving = std::make_unique<Saving>(request.path, request.arrays, comm, request.options);
    }

    void copy(base::AlignedBuffer& memory) {
        {
            nb::gil_scoped_release const released;
            saving->copy_blocks(memory);
        }
        buffers.clear();
    }

    // What is not finished is given up. An exception that is kept refers to this, and holds no file by that.
    void close() {
        {
            nb::gil_scoped_release const released;
            saving.reset();
        }
        buffers.clear();
    }

    std::vector<Buffer> buffers;
    PythonCommunicator comm;
    std::unique_ptr<Saving> saving;
};

SaveReport finish(PythonSaving& self, nb::object ranks) {
    PythonCommunicator comm(ranks);
    nb::gil_scoped_release const released;
    return self.saving->finish(comm);
}

void place(PythonSaving& self, nb::object ranks) {
    PythonCommunicator comm(ranks);
    nb::gil_scoped_release const released;
    self.saving->place(comm);
}

void refuse_save_over(nb::handle ranks, std::string const& path, nb::handle error) {
    PythonCommunicator comm(ranks);
    auto const why = as_thrown(error);
    nb::gil_scoped_release const released;
    refuse_save(comm, path, why);
}

void refuse_restore_over(nb::handle ranks, std::string const& path, nb::handle error) {
    PythonCommunicator comm(ranks);
    auto const why = as_thrown(error);
    nb::gil_scoped_release const released;
    refuse_restore(comm, path, why);
}

State restore_over(std::string const& path, nb::object ranks, bool verify, unsigned threads) {
    PythonCommunicator comm(ranks);
    nb::gil_scoped_release const released;
    return restore(path, comm, {verify, threads});
}

void read_into(State const& state, std::string const& name, PerAxis start, PerAxis shape, nb::handle out) {
    Buffer const buffer(out, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
    nb::gil_scoped_release const released;
    state.read(name, {std::move(start), std::move(shape)}, buffer.bytes());
}

using ArrayFacts = std::tuple<std::string, std::string, PerAxis, std::string>; // name, type, shape, codec

std::vector<ArrayFacts> facts_of(State const& state) {
    std::vector<ArrayFacts> facts;
    for (auto const& array : state.arrays()) {
        facts.emplace_back(array.name, model::name_of(array.scalar), array.shape, array.codec);
    }
    return facts;
}

std::string schema_of(State const& state) { return model::to_json({.attributes = state.attributes()}); }

} // namespace

void bind_checkpoint(nb::module_& module) {
    nb::class_<base::AlignedBuffer>(module, "AlignedBuffer")
        .def(nb::init<>())
        .def("__len__", &base::AlignedBuffer::size);
    bind_struct<&SaveReport::path, &SaveReport::id, &SaveReport::engine, &SaveReport::bytes, &SaveReport::file_bytes,
                &SaveReport::problems>(module, "SaveReport");
    nb::class_<SaveRequest>(module, "SaveRequest")
        .def(nb::init<std::string, nb::handle, std::string const&, unsigned, std::uint64_t>(), nb::arg("path"),
             nb::arg("arrays"), nb::arg("schema"), nb::arg("keep"), nb::arg("most_copy_bytes"));
    nb::class_<PythonSaving>(module, "Saving")
        .def(nb::init<SaveRequest&, nb::handle>(), nb::arg("request"), nb::arg("ranks"))
        .def_prop_ro("may_copy", [](PythonSaving const& self) { return self.saving->may_copy(); })
        .def("copy_blocks", &PythonSaving::copy, nb::arg("memory"))
        .def(
            "encode", [](PythonSaving& self) { self.saving->encode(); }, WithoutGil())
        .def("place", place, nb::arg("ranks"))
        .def(
            "write", [](PythonSaving& self) { self.saving->write(); }, WithoutGil())
        .def(
            "end_writes", [](PythonSaving& self) { self.saving->end_writes(); }, WithoutGil())
        .def("finish", finish, nb::arg("ranks"))
        .def("close", &PythonSaving::close);
    module.def("refuse_save", refuse_save_over, nb::arg("ranks"), nb::arg("path"), nb::arg("error"));
    nb::class_<State>(module, "CheckpointState")
        .def_prop_ro("path", &State::path)
        .def_prop_ro("id", &State::id)
        .def_prop_ro("problems", &State::problems)
        .def_prop_ro("schema", schema_of)
        .def_prop_ro("arrays", facts_of)
        .def("read_into", read_into, nb::arg("name"), nb::arg("start"), nb::arg("shape"), nb::arg("out"));
    module.def("refuse_restore", refuse_restore_over, nb::arg("ranks"), nb::arg("path"), nb::arg("error"));
    module.def("restore_checkpoint", restore_over, nb::arg("path"), nb::arg("ranks"), nb::arg("verify"),
               nb::arg("threads"));
}

} // namespace thalweg::bind
