#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

namespace thalweg::study {

// Samples the private and the shared memory of this process while rows are produced. Opponents in C++ measure
// themselves with it, too.
class PeakMemory {
  public:
    PeakMemory() : before_(now()), thread_([this](std::stop_token const& stop) { watch(stop); }) {}

    std::uint64_t above_begin_bytes() {
        thread_.request_stop();
        thread_.join();
        return peak_ - std::min(peak_, before_);
    }

  private:
    static std::uint64_t now() {
        std::ifstream status("/proc/self/status");
        std::uint64_t kib = 0, bytes = 0;
        for (std::string word; status >> word;) {
            if ((word == "RssAnon:" || word == "RssShmem:") && status >> kib) bytes += kib * 1024;
        }
        return bytes;
    }
    void watch(std::stop_token const& stop) {
        while (!stop.stop_requested()) {
            peak_ = std::max(peak_, now());
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }

    std::uint64_t before_;
    std::uint64_t peak_ = 0;
    std::jthread thread_;
};

} // namespace thalweg::study
