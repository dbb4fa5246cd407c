// The state that other threads may ask for while the client's thread runs.
#pragma once

#include <cstdint>
#include <string>

#include "thalweg/base/thread.h"
#include "thalweg/readout/client/client.h"

namespace thalweg::readout {

class PublishedState {
  public:
    void set_counters(ClientCounters const& counters) {
        base::Lock const lock(mutex_);
        counters_ = counters;
    }
    void set_run(std::uint32_t run) {
        base::Lock const lock(mutex_);
        run_ = run;
    }
    void set_waiting_for(std::string const& handlers) {
        base::Lock const lock(mutex_);
        waiting_for_ = handlers;
    }

    ClientCounters counters() const {
        base::Lock const lock(mutex_);
        return counters_;
    }
    std::uint32_t run() const {
        base::Lock const lock(mutex_);
        return run_;
    }
    std::string waiting_for() const {
        base::Lock const lock(mutex_);
        return waiting_for_;
    }

  private:
    mutable base::Mutex mutex_;
    ClientCounters counters_ THALWEG_GUARDED_BY(mutex_);
    std::uint32_t run_ THALWEG_GUARDED_BY(mutex_) = 0;
    std::string waiting_for_ THALWEG_GUARDED_BY(mutex_);
};

} // namespace thalweg::readout
