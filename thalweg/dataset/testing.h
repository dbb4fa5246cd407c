// For the tests of this folder: small schemas, rows that name their producer, a place for files.
#pragma once

#include <cstring>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "thalweg/base/error.h"
#include "thalweg/dataset/writer.h"

namespace thalweg::dataset::testing {

// What a child may do that is forked while threads run, as jobs of users may: AddressSanitizer's of GCC 12 can wait for
// ever, for the lock of its allocator, which another thread of the parent had; ThreadSanitizer's may start no threads.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr char const* kWhyNoFork = "this sanitizer does not stand a fork while threads run";
// Than without it: so that as much is written while files are opened and closed.
inline constexpr int kSlower = 20;
#else
inline constexpr char const* kWhyNoFork = nullptr;
inline constexpr int kSlower = 1;
#endif

// Runs this in a child, which ends by the signal that it raises: nothing that lives in it then is ended in order.
inline void run_until_killed(std::function<void()> const& work) {
    auto const child = ::fork();
    if (child == 0) {
        work();
        ::_exit(1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
}

class Directory {
  public:
    Directory() {
        std::string name = "/tmp/thalweg-test-XXXXXX";
        path_ = ::mkdtemp(name.data());
    }
    ~Directory() { std::filesystem::remove_all(path_); }
    std::string file(std::string const& name) const { return path_ / name; }

  private:
    std::filesystem::path path_;
};

// What went wrong; empty: nothing did.
inline std::string message_of(std::function<void()> const& work) {
    try {
        work();
    } catch (base::Error const& error) {
        return error.what();
    }
    return "";
}

inline model::Field scalar(std::string name, model::Scalar type, std::vector<std::uint64_t> shape = {}) {
    return {std::move(name), model::Kind::scalar, type, std::move(shape), {}, "", ""};
}

inline model::Field list(std::string name, model::Field element) {
    return {std::move(name), model::Kind::list, model::Scalar::float64, {}, {std::move(element)}, "", ""};
}

// Table "pulses": row number `id`, and a waveform that follows from producer and row.
inline model::Schema pulses(std::uint64_t samples) {
    return {{{"pulses",
              {scalar("producer", model::Scalar::uint8), scalar("id", model::Scalar::uint64),
               scalar("waveform", model::Scalar::uint16, {samples})},
              ""}}};
}

inline std::uint16_t sample(std::uint8_t producer, std::uint64_t row, std::uint64_t index) {
    return static_cast<std::uint16_t>((row * 31 + producer * 7 + index * (1 + row % 3)) % 1021);
}

struct PulseRows {
    PulseRows(std::uint8_t producer, std::uint64_t first, std::uint64_t rows, std::uint64_t samples) : count(rows) {
        for (auto row = first; row < first + rows; ++row) {
            producers.push_back(producer);
            ids.push_back(row);
            for (std::uint64_t i = 0; i < samples; ++i) waveforms.push_back(sample(producer, row, i));
        }
    }
    void append_to(Producer& out) const {
        std::span<std::byte const> const columns[] = {
            std::as_bytes(std::span(producers)), std::as_bytes(std::span(ids)), std::as_bytes(std::span(waveforms))};
        out.append(count, columns);
    }

    std::uint64_t count;
    std::vector<std::uint8_t> producers;
    std::vector<std::uint64_t> ids;
    std::vector<std::uint16_t> waveforms;
};

inline constexpr std::uint64_t kTimeoutNs = 120'000'000'000;

} // namespace thalweg::dataset::testing
