// Worker processes loop over the events of a file and fill two others together: one with the events that have two muons
// or more, and one with all their momenta. Usage: event_loop INPUT SELECTED MOMENTA [WORKERS [THREADS]]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <thalweg/thalweg.h>

using namespace thalweg;

namespace {

struct Selected {
    std::uint64_t event;
    std::vector<float> pt;
};

struct Momentum {
    float pt;
};

auto selected_type() {
    return dataset::struct_type<Selected>().with("event", &Selected::event).with("pt", &Selected::pt, "GeV");
}

auto momentum_type() { return dataset::struct_type<Momentum>().with("pt", &Momentum::pt, "GeV"); }

} // namespace

int main(int argc, char** argv) try {
    if (argc < 4) {
        std::fprintf(stderr, "usage: %s INPUT SELECTED MOMENTA [WORKERS [THREADS]]\n", argv[0]);
        return 2;
    }
    std::string const selected = argv[2], momenta = argv[3];
    dataset::CreateOptions create;
    create.force = true;
    derive::Output const of_events{selected, {{selected_type().table("selected")}}, create};
    derive::Output const of_muons{momenta, {{momentum_type().table("muons")}}, create};
    derive::LoopOptions options;
    options.workers = argc > 4 ? static_cast<unsigned>(std::atoi(argv[4])) : 2;
    options.threads = argc > 5 ? static_cast<unsigned>(std::atoi(argv[5])) : 1;
    auto const fill = [&](derive::Events& events) { // called for each range of events, in some worker
        auto const numbers = events.values<std::uint64_t>("event");
        auto const pt = events.lists<float>("Muon_pt");
        dataset::StructRows rows(events[selected], selected_type());
        dataset::StructRows all(events[momenta], momentum_type());
        for (std::uint64_t i = 0; i < events.size(); ++i) {
            for (auto const each : pt[i]) all.append(Momentum{each});
            if (pt[i].size() < 2) continue;
            rows.append(Selected{numbers[i], {pt[i].begin(), pt[i].end()}});
            events.add("two muons", 1);
        }
        events.add("all", static_cast<double>(events.size()));
    };
    auto const report = derive::run_event_loop({{argv[1]}}, {of_events, of_muons}, fill, options);
    std::printf("%.0f of %.0f events\n", report.sums.at("two muons"), report.sums.at("all"));
    for (auto const& output : report.outputs)
        std::printf("%s: %llu rows\n", output.path.c_str(),
                    static_cast<unsigned long long>(output.result.report.tables.at(0).rows));
    return 0;
} catch (base::Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
