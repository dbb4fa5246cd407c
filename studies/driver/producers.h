// The producers: threads of this process, or processes that attach.
#pragma once

#include <memory>

#include "studies/driver/material.h"
#include "thalweg/dataset/writer.h"

namespace thalweg::study {

struct Produced {
    std::uint64_t raw_bytes = 0;
    double cpu_s = 0;    // of processes other than this one
    double encode_s = 0; // CPU in codecs
    double wait_s = 0;   // in `append`, for room

    Produced& operator+=(Produced const& other);
};

// The work of one producer, from its first row to its last.
Produced produce(dataset::Producer producer, Rows const& rows);

// The rows are ready when the object is made, so that a clock can start.
class Producers {
  public:
    virtual ~Producers() = default;
    virtual void start(dataset::Writer& writer) = 0;
    virtual Produced wait() = 0;
};

std::unique_ptr<Producers> make_producer_threads(Material const& material);
// Forks, so there must be no other thread yet.
std::unique_ptr<Producers> make_producer_processes(Material const& material, dataset::WriteOptions const& write);

} // namespace thalweg::study
