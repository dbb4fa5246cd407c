// The metrics of a handler for Prometheus.
#include <fmt/format.h>

#include "thalweg/readout/handler/handler.h"

namespace thalweg::readout {
namespace {

using trace::Sample;
using Labels = std::vector<std::pair<std::string, std::string>>;

template <typename Report> struct SampleColumn {
    char const* name;
    char const* help;
    Sample::Kind kind;
    double (*value)(Report const&);
};

constexpr auto kCounter = Sample::Kind::counter;
constexpr auto kGauge = Sample::Kind::gauge;

#define THALWEG_NUMBER(Report, member) [](Report const& it) { return static_cast<double>(it.member); }

constexpr SampleColumn<StreamReport> kOfStreams[] = {
    {"packets_total", "Packets decoded", kCounter, THALWEG_NUMBER(StreamReport, packets)},
    {"payload_bytes_total", "Bytes of these", kCounter, THALWEG_NUMBER(StreamReport, payload_bytes)},
    {"packets_delivered_total", "Packets in a fragment", kCounter, THALWEG_NUMBER(StreamReport, delivered)},
    {"packets_duplicate_total", "Packets of which the fragment had one", kCounter,
     THALWEG_NUMBER(StreamReport, duplicate)},
    {"packets_late_total", "Packets of closed events", kCounter, THALWEG_NUMBER(StreamReport, late)},
    {"packets_out_of_window_total", "Packets of events too far away", kCounter,
     THALWEG_NUMBER(StreamReport, out_of_window)},
    {"packets_orphaned_total", "Packets without a usable event number", kCounter,
     THALWEG_NUMBER(StreamReport, orphaned)},
    {"packets_left_total", "Packets behind the end of the run, for the next handler", kCounter,
     THALWEG_NUMBER(StreamReport, left)},
    {"blocks_total", "Blocks", kCounter, THALWEG_NUMBER(StreamReport, blocks)},
    {"sequence_gaps_total", "Gaps in the blocks' sequence", kCounter, THALWEG_NUMBER(StreamReport, sequence_gaps)},
    {"lost_blocks_total", "Blocks lost in these gaps, at least", kCounter, THALWEG_NUMBER(StreamReport, lost_blocks)},
    {"bad_blocks_total", "Blocks that could not be decoded", kCounter, THALWEG_NUMBER(StreamReport, bad_blocks)},
    {"dropped_chunks_total", "Pieces without beginning or end", kCounter, THALWEG_NUMBER(StreamReport, dropped_chunks)},
    {"crc_errors_total", "Packets with the CRC flag", kCounter, THALWEG_NUMBER(StreamReport, crc_errors)},
    {"packet_errors_total", "Packets with the error flag", kCounter, THALWEG_NUMBER(StreamReport, errors)},
    {"truncated_total", "Packets that were cut", kCounter, THALWEG_NUMBER(StreamReport, truncated)},
    {"busy_total", "Packets with the busy flag", kCounter, THALWEG_NUMBER(StreamReport, busy)},
    {"timeouts_total", "Half-filled blocks", kCounter, THALWEG_NUMBER(StreamReport, timeouts)},
    {"link_deaths_total", "How often the link fell silent", kCounter, THALWEG_NUMBER(StreamReport, deaths)},
    {"link_live", "1 while packets come", kGauge, THALWEG_NUMBER(StreamReport, live)},
    {"link_enabled", "0 if the configuration disables the link", kGauge, THALWEG_NUMBER(StreamReport, enabled)},
};

constexpr SampleColumn<GroupReport> kOfGroups[] = {
    {"fragments_complete_total", "Fragments of all enabled streams", kCounter, THALWEG_NUMBER(GroupReport, complete)},
    {"fragments_incomplete_total", "Fragments of which streams are missing", kCounter,
     THALWEG_NUMBER(GroupReport, incomplete)},
    {"events_absent_total", "Events without any packet", kCounter, THALWEG_NUMBER(GroupReport, absent)},
    {"fragments_timed_out_total", "Fragments closed because time went by", kCounter,
     THALWEG_NUMBER(GroupReport, timed_out)},
    {"payload_overflows_total", "Payloads that did not fit", kCounter, THALWEG_NUMBER(GroupReport, overflows)},
    {"event_jumps_total", "Jumps of the event number, ECR steps among them", kCounter,
     THALWEG_NUMBER(GroupReport, jumps)},
    {"fragments_cleared_total", "Fragments that collectors have, durably", kCounter,
     THALWEG_NUMBER(GroupReport, cleared)},
    {"fragments_evicted_total", "Fragments that made room", kCounter, THALWEG_NUMBER(GroupReport, evicted)},
    {"fragments_skipped_total", "Fragments that no client asked for, or that came too late", kCounter,
     THALWEG_NUMBER(GroupReport, skipped)},
    {"fragments_kept", "Fragments that wait for collectors", kGauge, THALWEG_NUMBER(GroupReport, kept)},
    {"fragments_uncollected", "Fragments of an ended run that no client has fetched", kGauge,
     THALWEG_NUMBER(GroupReport, discarded)},
    {"hook_failures_total", "Packets or fragments that a hook refused", kCounter,
     THALWEG_NUMBER(GroupReport, hook_failures)},
    {"hook_overruns_total", "Hook calls that took longer than their budget", kCounter,
     THALWEG_NUMBER(GroupReport, hook_overruns)},
    {"open_events", "Events under construction", kGauge, THALWEG_NUMBER(GroupReport, open_events)},
    {"index_fill_ratio", "Of the index, 0 to 1", kGauge, THALWEG_NUMBER(GroupReport, fill)},
    {"newest_event", "Number of the newest event", kGauge, THALWEG_NUMBER(GroupReport, newest_event)},
};

#undef THALWEG_NUMBER

// Prometheus wants all samples of one name together, so names are the outer loop.
class Samples {
  public:
    explicit Samples(std::string handler) : handler_(std::move(handler)) {}

    void add(char const* name, char const* help, Sample::Kind kind, double value, Labels const& more = {}) {
        Labels labels{{"handler", handler_}};
        labels.insert(labels.end(), more.begin(), more.end());
        samples.push_back({std::string("thalweg_readout_") + name, help, kind, std::move(labels), value});
    }

    std::vector<Sample> samples;

  private:
    std::string handler_;
};

} // namespace

std::vector<trace::Sample> Handler::samples() const {
    auto const report = this->report();
    Samples out(config_.name);
    out.add("state", "0 initial, 1 configured, 2 running, 3 paused, 4 stopped", kGauge, static_cast<double>(state()));
    out.add("run", "Run number", kGauge, report.run);
    for (auto const& column : kOfStreams) {
        for (auto const& group : report.groups) {
            for (auto const& stream : group.streams) {
                Labels const labels{{"source_id", fmt::format("{:#x}", group.source_id)},
                                    {"elink", fmt::format("{}", stream.elink)}};
                out.add(column.name, column.help, column.kind, column.value(stream), labels);
            }
        }
    }
    for (auto const& column : kOfGroups) {
        for (auto const& group : report.groups) {
            out.add(column.name, column.help, column.kind, column.value(group),
                    {{"source_id", fmt::format("{:#x}", group.source_id)}});
        }
    }
    auto const& builder = report.builder;
    out.add("foreign_blocks_total", "Blocks of e-links without a group", kCounter,
            static_cast<double>(builder.foreign_blocks));
    out.add("bad_headers_total", "Blocks of another magic", kCounter, static_cast<double>(builder.bad_headers));
    out.add("bad_pointers_total", "Write pointers that made no sense", kCounter,
            static_cast<double>(builder.bad_pointers));
    out.add("busy_seconds_total", "Reading stood still because an index was full", kCounter,
            static_cast<double>(builder.busy_ns) * 1e-9);
    out.add("build_cpu_seconds_total", "CPU time of the threads that build", kCounter,
            static_cast<double>(builder.cpu_ns) * 1e-9);
    auto discarded = discarded_before();
    for (auto const& group : report.groups) discarded += group.discarded;
    out.add("fragments_discarded_total", "Fragments that no client had fetched when their run ended", kCounter,
            static_cast<double>(discarded));
    out.add("cards_gone_total", "How often the card fell silent", kCounter, static_cast<double>(report.cards_gone));
    if (server_) {
        for (auto& sample : server_->samples()) {
            sample.labels.insert(sample.labels.begin(), {"handler", config_.name});
            out.samples.push_back(std::move(sample));
        }
    }
    return out.samples;
}

} // namespace thalweg::readout
