// Those who produce: each with a channel of its own, as threads of this process or as processes that attach.
#pragma once

#include <memory>

#include "studies/record/driver/pulses.h"
#include "thalweg/dataset/writer.h"

namespace thalweg::study {

struct Produced {
    std::uint64_t raw_bytes = 0;
    double cpu_s = 0; // of processes other than this one
};

// Sources are ready when it is made, so that a clock can start.
class Crew {
  public:
    virtual ~Crew() = default;
    virtual void start(dataset::Writer& writer) = 0;
    virtual Produced wait() = 0;
};

std::unique_ptr<Crew> make_thread_crew(source::DigitizerOptions const& options);
// Forks, so there must be no other thread yet.
std::unique_ptr<Crew> make_process_crew(source::DigitizerOptions const& options, dataset::WriteOptions const& write);

} // namespace thalweg::study
