// Events from the handlers of a readout into one file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "thalweg/dataset/writer.h"
#include "thalweg/readout/client/client.h"

namespace thalweg::record {

// Table "events", one row an event:
//   run uint32; event uint64; l1id uint32 (ECR << 24 | L1ID); bcid uint16; trigger_type uint32; state uint8
//   (readout::EventState); status uint32 (all fragments' bits); latency float32 (us);
//   fragments: list of {source_id uint32, status uint32, stream_map uint64, build_us uint32, data: list of uint8}
// `data` is the whole fragment, docs/formats/fragment.md.
model::Schema schema_of_events();

struct CollectOptions {
    readout::ClientOptions client;
    std::uint64_t max_events = 0; // 0: until stop() or the end of the run
    bool complete_only = false;   // others are counted and left out
    // After run(): so long it waits until the last rows are durable and handlers have forgotten them.
    std::uint64_t settle_ns = 30'000'000'000;
};

class Collector {
  public:
    // Rows go to a producer of table "events" of `writer`, which outlives it.
    Collector(dataset::Writer& writer, CollectOptions const& options);
    ~Collector();

    // Until stop(), `max_events`, or the end of the run. Handlers are told to forget events when their rows would
    // survive a power cut, not before; also those of the end: Writer::close may follow at once. Throws what client and
    // producer throw; what was appended before is safe then, too.
    void run();
    void stop(); // from any thread

    readout::ClientCounters counters() const;
    std::uint64_t rows() const;
    std::uint64_t bytes() const;       // of these rows, raw
    std::uint64_t left_out() const;    // not complete
    std::uint64_t not_cleared() const; // ranges that no handler was told to forget, yet
    std::uint32_t run_number() const;
    std::string waiting_for() const; // handlers that are away, and why

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace thalweg::record
