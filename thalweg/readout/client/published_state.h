// The state that other threads may ask for while the client's thread runs.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "thalweg/base/thread.h"
#include "thalweg/readout/client/client.h"

namespace thalweg::readout {

class PublishedState {
  public:
    void set_counters(ClientCounters const& counters) {
        base::Lock const lock(mutex_);
        counters_ = counters;
    }
    void set_missing_parts(std::vector<MissingParts> const& parts) {
        base::Lock const lock(mutex_);
        missing_parts_ = parts;
    }
    void set_run(std::uint32_t run) {
        base::Lock const lock(mutex_);
        run_ = run;
    }
    void set_away(std::vector<AwayHandler> handlers) {
        base::Lock const lock(mutex_);
        away_ = std::move(handlers);
    }

    ClientCounters counters() const {
        base::Lock const lock(mutex_);
        return counters_;
    }
    std::vector<MissingParts> missing_parts() const {
        base::Lock const lock(mutex_);
        return missing_parts_;
    }
    std::uint32_t run() const {
        base::Lock const lock(mutex_);
        return run_;
    }
    std::vector<AwayHandler> away() const {
        base::Lock const lock(mutex_);
        return away_;
    }

  private:
    mutable base::Mutex mutex_;
    ClientCounters counters_ THALWEG_GUARDED_BY(mutex_);
    std::vector<MissingParts> missing_parts_ THALWEG_GUARDED_BY(mutex_); // without addresses
    std::uint32_t run_ THALWEG_GUARDED_BY(mutex_) = 0;
    std::vector<AwayHandler> away_ THALWEG_GUARDED_BY(mutex_);
};

} // namespace thalweg::readout
