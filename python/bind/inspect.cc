// What `thalweg inspect` shows beyond the rows themselves.
#include <hdf5.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "record_class.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/run/ledger.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/dataset/run/run_place.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;
using namespace dataset;

struct ColumnStorage {
    std::string path;
    std::string codec;
    std::uint64_t page_items = 0;
    std::uint64_t pages = 0;
    std::uint64_t raw_bytes = 0;
    std::uint64_t stored_bytes = 0;
};

std::vector<ColumnStorage> storage_of(Reader const& reader, std::size_t table) {
    std::vector<ColumnStorage> columns;
    auto const& layout = reader.head().layouts.at(table);
    for (std::size_t i = 0; i < layout.columns.size(); ++i) {
        auto const& stored = reader.column(table, i);
        auto const& facts = reader.head().columns[table][i];
        auto const unit_bytes = stored.by_value ? size_bytes(facts.scalar) : facts.item_bytes();
        ColumnStorage column{facts.path, layout.columns[i].codec, layout.columns[i].page_items, stored.pages.size()};
        auto next = std::uint64_t{0};
        for (auto const& page : stored.pages) {
            if (page.first >= next) column.raw_bytes += page.count * unit_bytes; // without padding; of tiles once
            next = page.first + page.count;
            column.stored_bytes += page.stored_bytes;
        }
        columns.push_back(std::move(column));
    }
    return columns;
}

struct LiveProducer {
    std::int32_t pid = 0;
    std::string table;
    bool alive = false;
};

// Returns the ledgers of a run on this machine; a run of several nodes may have more than one here.
std::vector<std::unique_ptr<Ledger>> ledgers_of(Reader const& reader) {
    std::vector<std::unique_ptr<Ledger>> ledgers;
    auto places = places_of_run(reader.path());
    auto journals = open_journals(places, storage::OpenMode::read_only);
    if (places.empty()) {
        places.emplace_back(reader.path());
        journals.emplace_back(); // none
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (auto ledger = find_ledger(reader.head().id, places[i], journals[i])) ledgers.push_back(std::move(ledger));
    }
    return ledgers;
}

// Returns the producers of a run that is being written on this machine; empty for all other runs.
std::vector<LiveProducer> live_producers(Reader const& reader) {
    std::vector<LiveProducer> producers;
    try {
        for (auto const& ledger : ledgers_of(reader)) {
            for (std::size_t i = 0; i < ledger->slots_used(); ++i) {
                auto const& slot = ledger->slot(i);
                if (slot.state == SlotState::free) continue;
                auto const state = slot.state.load();
                bool const at_work = state == SlotState::attaching || state == SlotState::active;
                producers.push_back({slot.producer.pid, reader.head().schema.tables.at(slot.table).name,
                                     at_work && base::is_alive(slot.producer)});
            }
        }
    } catch (base::Error const&) {
        producers.clear();
    }
    return producers;
}

// Returns the place of the memory of an open run; empty if it is gone or was never shared.
std::string memory_place(Reader const& reader) {
    try {
        auto const ledgers = ledgers_of(reader);
        return ledgers.empty() ? "" : ledgers.front()->memory_place();
    } catch (base::Error const&) {
        return "";
    }
}

std::string hdf5_version() {
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    return std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(release);
}

} // namespace

void bind_inspect(nb::module_& module) {
    bind_struct<&ColumnStorage::path, &ColumnStorage::codec, &ColumnStorage::page_items, &ColumnStorage::pages,
                &ColumnStorage::raw_bytes, &ColumnStorage::stored_bytes>(module, "ColumnStorage");
    nb::class_<LiveProducer>(module, "LiveProducer")
        .def_ro("pid", &LiveProducer::pid)
        .def_ro("table", &LiveProducer::table)
        .def_ro("alive", &LiveProducer::alive);
    module.def("storage_of", storage_of, nb::arg("reader"), nb::arg("table"));
    module.def("live_producers", live_producers, nb::arg("reader"));
    module.def("memory_place", memory_place, nb::arg("reader"));
    module.def("hdf5_version", hdf5_version);
}

} // namespace thalweg::bind
