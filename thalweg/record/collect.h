// Writes events from the handlers of a readout into one file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "thalweg/dataset/writer.h"
#include "thalweg/readout/client/client.h"

namespace thalweg::record {

// Returns the schema of table "events", with one row per event:
//   run uint32; event uint64; l1id uint32 (ECR << 24 | L1ID); bcid uint16; trigger_type uint32; state uint8
//   (readout::EventState); status uint32 (all fragments' bits); latency float32 (us);
//   fragments: list of {source_id uint32, status uint32, stream_map uint64, build_us uint32, data: list of uint8}
// `data` is the whole fragment (docs/formats/fragment.md).
model::Schema schema_of_events();

struct CollectOptions {
    readout::ClientOptions client;
    std::uint64_t max_events = 0; // 0: until stop() or the end of the run
    bool complete_only = false;   // other events are counted and left out
    // How long run() waits at the end until the last rows are durable and the handlers have forgotten them.
    std::uint64_t settle_ns = 30'000'000'000;
};

class Collector {
  public:
    // Appends rows to a producer of table "events" of `writer`, which must live longer.
    Collector(dataset::Writer& writer, CollectOptions const& options);
    ~Collector();

    // Runs until stop(), `max_events`, or the end of the run. Handlers are told to forget events only when their rows
    // would survive a power cut, including the last ones, so Writer::close may follow at once. Throws what client and
    // producer throw; rows that were appended before are safe then, too.
    void run();
    void stop(); // from any thread

    readout::ClientCounters counters() const;
    std::vector<readout::MissingParts> missing_parts() const; // of each handler
    std::uint64_t rows() const;
    std::uint64_t bytes() const;       // size of these rows, raw
    std::uint64_t left_out() const;    // incomplete events
    std::uint64_t not_cleared() const; // ranges that no handler was told to forget yet
    std::uint32_t run_number() const;
    std::vector<readout::AwayHandler> away() const;
    std::string waiting_for() const; // handlers that are away, and why

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace thalweg::record
