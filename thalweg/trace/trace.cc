#include "thalweg/trace/trace.h"

#include <algorithm>
#include <map>

#include "thalweg/base/thread.h"

namespace thalweg::trace {
namespace {

// Maps, because their nodes stay where they are while others are added.
struct Registry {
    base::Mutex mutex;
    std::map<std::string, Counter, std::less<>> counters THALWEG_GUARDED_BY(mutex);
    std::map<std::string, Timer, std::less<>> timers THALWEG_GUARDED_BY(mutex);
};

// Never destroyed: threads may still count while the process ends.
Registry& registry() {
    static auto* const instance = new Registry;
    return *instance;
}

template <class Map> typename Map::mapped_type& find_or_add(Map& map, std::string_view name) {
    auto const found = map.find(name);
    return found != map.end() ? found->second : map.try_emplace(std::string(name)).first->second;
}

} // namespace

Counter& counter(std::string_view name) {
    auto& all = registry();
    base::Lock const lock(all.mutex);
    return find_or_add(all.counters, name);
}

Timer& timer(std::string_view name) {
    auto& all = registry();
    base::Lock const lock(all.mutex);
    return find_or_add(all.timers, name);
}

std::vector<std::pair<std::string, std::uint64_t>> snapshot() {
    std::vector<std::pair<std::string, std::uint64_t>> values;
    {
        auto& all = registry();
        base::Lock const lock(all.mutex);
        for (auto const& [name, counter] : all.counters) values.emplace_back(name, counter.value());
        for (auto const& [name, timer] : all.timers) {
            values.emplace_back(name + ".calls", timer.calls.value());
            values.emplace_back(name + ".cpu_ns", timer.cpu_ns.value());
            values.emplace_back(name + ".wall_ns", timer.wall_ns.value());
        }
    }
    std::ranges::sort(values);
    return values;
}

} // namespace thalweg::trace
