#include "thalweg/record/event_rows.h"

#include "thalweg/base/assert.h"
#include "thalweg/record/collect.h"

namespace thalweg::record {
namespace {

using model::Field;
using model::Kind;
using model::Scalar;

Field scalar(std::string name, Scalar type, std::string description, std::string unit = "") {
    return {std::move(name), Kind::scalar, type, {}, {}, std::move(unit), std::move(description), ""};
}

Field list(std::string name, Field element, std::string description) {
    return {std::move(name), Kind::list, Scalar::float64, {}, {std::move(element)}, "", std::move(description), ""};
}

} // namespace

model::Schema schema_of_events() {
    Field fragment{"", Kind::record, Scalar::float64, {}, {}, "", "", ""};
    fragment.members = {scalar("source_id", Scalar::uint32, ""),
                        scalar("status", Scalar::uint32, "bits of a fragment's status; 0: nothing was wrong"),
                        scalar("stream_map", Scalar::uint64, "bit i: stream i arrived"),
                        scalar("build_us", Scalar::uint32, "from its first packet to its closing", "us"),
                        list("data", scalar("", Scalar::uint8, ""), "the whole fragment, header included")};
    return {{{"events",
              {scalar("run", Scalar::uint32, ""), scalar("event", Scalar::uint64, "epoch << 32 | ECR << 24 | L1ID"),
               scalar("l1id", Scalar::uint32, "ECR << 24 | L1ID"), scalar("bcid", Scalar::uint16, ""),
               scalar("trigger_type", Scalar::uint32, ""),
               scalar("state", Scalar::uint8, "0 complete, 1 incomplete, 4 evicted by a handler"),
               scalar("status", Scalar::uint32, "the status bits of all fragments together"),
               scalar("latency", Scalar::float32, "from the request to the last fragment", "us"),
               list("fragments", fragment, "")},
              "events as the readout delivered them"}}};
}

void EventRows::add(readout::Event const& event) {
    run_.push_back(event.run);
    event_.push_back(event.event);
    l1id_.push_back(static_cast<std::uint32_t>(event.event));
    bool const any = !event.fragments.empty();
    bcid_.push_back(any ? event.fragments[0].header().bcid : std::uint16_t{0});
    trigger_type_.push_back(any ? event.fragments[0].header().trigger_type : 0);
    state_.push_back(static_cast<std::uint8_t>(event.state));
    latency_us_.push_back(static_cast<float>(static_cast<double>(event.latency_ns) / 1000));
    fragments_.push_back(event.fragments.size());
    std::uint32_t status = 0;
    for (auto const& fragment : event.fragments) {
        auto const& header = fragment.header();
        status |= header.status;
        source_id_.push_back(header.source_id);
        fragment_status_.push_back(header.status);
        stream_map_.push_back(header.stream_map);
        build_us_.push_back(header.build_us);
        data_lengths_.push_back(fragment.bytes().size());
        data_.insert(data_.end(), fragment.bytes().begin(), fragment.bytes().end());
    }
    status_.push_back(status);
    THALWEG_ASSERT(source_id_.size() == data_lengths_.size() && status_.size() == fragments_.size(),
                   "all columns of a row, and of a fragment, have the same length");
}

std::array<std::span<std::byte const>, EventRows::kColumns> EventRows::columns() const {
    auto const bytes = [](auto const& column) { return std::as_bytes(std::span(column)); };
    return {bytes(run_),       bytes(event_),           bytes(l1id_),
            bytes(bcid_),      bytes(trigger_type_),    bytes(state_),
            bytes(status_),    bytes(latency_us_),      bytes(fragments_),
            bytes(source_id_), bytes(fragment_status_), bytes(stream_map_),
            bytes(build_us_),  bytes(data_lengths_),    bytes(data_)};
}

std::vector<std::uint64_t> EventRows::items() const {
    std::vector<std::uint64_t> items(9, cleared_rows_ + rows());
    items.resize(14, cleared_fragments_ + source_id_.size());
    items.push_back(cleared_bytes_ + data_.size());
    return items;
}

void EventRows::clear() {
    cleared_rows_ += rows();
    cleared_fragments_ += source_id_.size();
    cleared_bytes_ += data_.size();
    auto const empty = [](auto&... columns) { (columns.clear(), ...); };
    empty(run_, event_, l1id_, bcid_, trigger_type_, state_, status_, latency_us_, fragments_);
    empty(source_id_, fragment_status_, stream_map_, build_us_, data_lengths_, data_);
}

} // namespace thalweg::record
