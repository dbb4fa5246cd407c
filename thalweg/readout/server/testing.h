// A server over a ring that tests fill, once for each way to its clients.
#pragma once

#include <chrono>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <thread>

#include "thalweg/readout/builder/test_ring.h"
#include "thalweg/readout/server/server.h"
#include "thalweg/readout/server/test_client.h"
#include "thalweg/readout/server/testing_owners.h"

namespace thalweg::readout {

inline constexpr std::uint32_t kRun = 7;
inline constexpr std::uint32_t kAll = ~0u; // bytes

class ServerTest : public testing::TestWithParam<Way> {
  protected:
    ServerTest() {
        config.listen = free_address(GetParam());
        config.iovec = GetParam() == Way::scattered;
        config.shared_memory_bytes = memory_of(GetParam());
        TestClient::asks_for_memory = GetParam() == Way::memory;
        config.lease_ns = 60'000'000'000; // no lease expires because the machine is busy
    }
    ~ServerTest() override { TestClient::asks_for_memory = false; }
    void start(std::uint64_t slots = 4096) {
        ring.emplace(kFirst, slots);
        index.emplace(std::vector{&ring->ring});
        server.emplace(config, 0xABCD, "dh0");
        server->begin_run(kRun, *index, 1, 512);
        server->set_state(ReadoutState::running);
    }
    TestClient collector(std::uint64_t id = 1) { return {server->address(), id}; }
    TestClient observer() { return {server->address(), 99, ClientRole::observer}; }
    double sample(std::string const& name, std::string const& label = "") const {
        for (auto const& it : server->samples())
            if (it.name == "thalweg_readout_" + name && (label.empty() || it.labels.at(0).second == label))
                return it.value;
        ADD_FAILURE() << "no sample " << name;
        return -1;
    }
    // Returns whether a condition becomes true. The limit only matters for a server that never fulfils it.
    template <class Condition> static bool soon(Condition const& condition) {
        for (int i = 0; i < 3000; ++i) {
            if (condition()) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return false;
    }
    bool becomes(std::string const& name, double value, std::string const& label = "") const {
        return soon([&] { return sample(name, label) == value; });
    }
    bool reaches(std::string const& name, double value) const {
        return soon([&] { return sample(name) >= value; });
    }

    ServerConfig config;
    std::optional<TestRing> ring;
    std::optional<Index> index;
    std::optional<Server> server;
};

} // namespace thalweg::readout
