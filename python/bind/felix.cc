#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "record_class.h"
#include "thalweg/felix/card.h"
#include "thalweg/felix/dma_buffer.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;
using namespace felix;
using WithoutGil = nb::call_guard<nb::gil_scoped_release>;

void bind_card_options(nb::module_& module) {
    nb::class_<BlockFormat>(module, "BlockFormat")
        .def_static("parse", &parse_format, nb::arg("name"), nb::arg("block_bytes"))
        .def_ro("block_bytes", &BlockFormat::block_bytes);
    nb::class_<PacketSizes>(module, "PacketSizes").def_static("parse", &parse_packet_sizes, nb::arg("text"));
    nb::class_<FaultOptions>(module, "FaultOptions")
        .def_static("parse", &parse_faults, nb::arg("text"))
        .def_prop_ro("any", &FaultOptions::any);
    bind_settable<&CardOptions::name, &CardOptions::elinks, &CardOptions::first_elink, &CardOptions::buffers,
                  &CardOptions::buffer_bytes, &CardOptions::format, &CardOptions::sizes, &CardOptions::event_rate_hz,
                  &CardOptions::events, &CardOptions::first_l1id, &CardOptions::events_per_ecr,
                  &CardOptions::l1id_offset, &CardOptions::timeout_ns, &CardOptions::seed, &CardOptions::faults>(
        module, "CardOptions");
}

void bind_tally(nb::module_& module) {
    using F = FaultTally;
    bind_record<&F::missing, &F::late, &F::duplicated, &F::swapped, &F::truncated, &F::crc, &F::error, &F::busy,
                &F::lost_blocks, &F::garbage_blocks, &F::dead_times, &F::packets_in_lost_blocks, &F::undetectable>(
        module, "FaultTally");
    using L = LinkTally;
    bind_record<&L::elink, &L::events, &L::packets, &L::blocks, &L::faults>(module, "LinkTally");
}

} // namespace

void bind_felix(nb::module_& module) {
    bind_card_options(module);
    bind_tally(module);
    nb::class_<Card>(module, "Card")
        .def(nb::init<CardOptions const&>(), nb::arg("options"), WithoutGil())
        .def("run", &Card::run, WithoutGil())
        .def("stop", &Card::stop)
        .def_prop_ro("events_sent", &Card::events_sent)
        .def_prop_ro("bytes_sent", &Card::bytes_sent)
        .def_prop_ro("stall_ns", &Card::stall_ns)
        .def_prop_ro("backlog_bytes", &Card::backlog_bytes)
        .def("tally", &Card::tally);
    module.def("dma_name", &dma_name, nb::arg("card"), nb::arg("index"));
}

} // namespace thalweg::bind
