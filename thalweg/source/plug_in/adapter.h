// A source of this package, written as a C++ class, with the calls of include/thalweg/source.h.
//
//   struct Card {
//       Card(thalweg_host const& host, std::span<thalweg_value const* const> values);  // opens it
//       std::string describe();
//       std::optional<std::int64_t> start();
//       int next(std::uint32_t lane, std::uint64_t timeout_ns, thalweg_batch& batch);
//       void stop();
//       void pause();
//       void count(Counts& counts);
//   };
//   thalweg_source const* thalweg_get_source(std::uint32_t version) {
//       static auto const source = adapted<Card>("card", "1.0", settings);
//       ...
//
// base::UsageError is THALWEG_REFUSED, and every other exception THALWEG_LOST.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/base/error.h"
#include "thalweg/source.h"

namespace thalweg::source::plug_in {

// What a device counts; names are literals.
class Counts {
  public:
    void add(std::uint32_t table, char const* name, std::uint64_t value) {
        tables_.push_back(table);
        names_.push_back(name);
        values_.push_back(value);
    }
    void clear() {
        tables_.clear();
        names_.clear();
        values_.clear();
    }
    void show(thalweg_counters& counters) const {
        counters.count = values_.size();
        counters.tables = tables_.data();
        counters.names = names_.data();
        counters.values = values_.data();
    }

  private:
    std::vector<std::uint32_t> tables_;
    std::vector<char const*> names_;
    std::vector<std::uint64_t> values_;
};

template <class Device> struct Opened {
    thalweg_host const& host;
    Device device;
    std::string json = {};
    Counts counts = {};
};

template <class Call> std::int32_t guarded(thalweg_host const& host, Call const& call) {
    try {
        return call();
    } catch (base::UsageError const& error) {
        host.fail(host.context, error.what());
        return THALWEG_REFUSED;
    } catch (std::exception const& error) {
        host.fail(host.context, error.what());
        return THALWEG_LOST;
    }
}

// `settings` ends with a null pointer.
template <class Device>
thalweg_source adapted(char const* name, char const* version, thalweg_setting const* const* settings) {
    using Self = Opened<Device>;
    static std::size_t count = 0;
    while (settings[count] != nullptr) ++count;
    thalweg_source source{};
    source.version = THALWEG_SOURCE_VERSION;
    source.size = sizeof source;
    source.name = name;
    source.own_version = version;
    source.settings = settings;
    source.open = [](thalweg_host const* host, thalweg_value const* const* values, void** device) {
        return guarded(*host, [&] {
            *device = new Self{*host, Device(*host, std::span(values, count))};
            return THALWEG_OK;
        });
    };
    source.describe = [](void* device, char const** json) {
        auto& self = *static_cast<Self*>(device);
        return guarded(self.host, [&] {
            self.json = self.device.describe();
            *json = self.json.c_str();
            return THALWEG_OK;
        });
    };
    source.start = [](void* device, std::int64_t* card) {
        auto& self = *static_cast<Self*>(device);
        return guarded(self.host, [&] {
            if (auto const shown = self.device.start()) *card = *shown;
            return THALWEG_OK;
        });
    };
    source.next = [](void* device, std::uint32_t lane, std::uint64_t timeout_ns, thalweg_batch* batch) {
        auto& self = *static_cast<Self*>(device);
        return guarded(self.host, [&] { return self.device.next(lane, timeout_ns, *batch); });
    };
    source.stop = [](void* device) {
        auto& self = *static_cast<Self*>(device);
        return guarded(self.host, [&] {
            self.device.stop();
            return THALWEG_OK;
        });
    };
    source.close = [](void* device) { delete static_cast<Self*>(device); };
    source.pause = [](void* device) {
        auto& self = *static_cast<Self*>(device);
        return guarded(self.host, [&] {
            self.device.pause();
            return THALWEG_OK;
        });
    };
    source.counters = [](void* device, thalweg_counters* counters) {
        auto& self = *static_cast<Self*>(device);
        return guarded(self.host, [&] {
            self.counts.clear();
            self.device.count(self.counts);
            self.counts.show(*counters);
            return THALWEG_OK;
        });
    };
    return source;
}

} // namespace thalweg::source::plug_in
