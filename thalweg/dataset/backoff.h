#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace thalweg::dataset {

// For waits on another process: first short sleeps, then longer ones; never a busy core.
class Backoff {
  public:
    void pause() {
        std::this_thread::sleep_for(std::chrono::microseconds(sleep_us_));
        sleep_us_ = std::min(sleep_us_ * 2, 500);
    }
    void reset() { sleep_us_ = 20; }

  private:
    int sleep_us_ = 20;
};

} // namespace thalweg::dataset
