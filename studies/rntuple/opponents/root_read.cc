// Usage: root_read PATH PASSES THREADS HOW. ROOT reads all values of a table of events, once more than PASSES says; the
// first pass only warms the caches. HOW: "bulk" reads flat columns cluster by cluster, each thread with a reader of its
// own; "views" goes event by event and adds up; "dataframe" adds up with RDataFrame.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <ROOT/RDataFrame.hxx>
#include <ROOT/RNTupleReader.hxx>
#include <ROOT/RNTupleView.hxx>
#include <ROOT/RVec.hxx>
#include <string>
#include <thread>
#include <TROOT.h>
#include <vector>

#include "studies/driver/clocks.h"

namespace {

using Reader = std::unique_ptr<ROOT::RNTupleReader>;

struct Cluster {
    ROOT::DescriptorId_t id;
    std::uint64_t first, events;
};

std::vector<Cluster> clusters_of(Reader& reader) {
    std::vector<Cluster> clusters;
    for (auto const& each : reader->GetDescriptor().GetClusterIterable()) {
        clusters.push_back({each.GetId(), each.GetFirstEntryIndex(), each.GetNEntries()});
    }
    return clusters;
}

// The sums of what was read, so that no work can be left out, and two ways can be compared.
struct Sums {
    std::uint64_t ids = 0, energies = 0;
    double energy = 0;
};

Sums read_views(Reader& reader, std::vector<Cluster> const& clusters) {
    auto ids = reader->GetView<std::uint64_t>("eventId");
    auto particles = reader->GetCollectionView("particles");
    auto energies = particles.GetView<float>("_0");
    Sums sums;
    for (auto const& cluster : clusters) {
        for (std::uint64_t event = cluster.first; event < cluster.first + cluster.events; ++event) {
            sums.ids += ids(event);
            for (auto const index : particles.GetCollectionRange(event)) {
                sums.energy += energies(index);
                ++sums.energies;
            }
        }
    }
    return sums;
}

// Reads flat columns, as Thalweg's reader fills them, and looks at one value of each column per cluster.
Sums read_bulk(Reader& reader, std::vector<Cluster> const& clusters) {
    auto id_view = reader->GetView<std::uint64_t>("eventId");
    auto length_view = reader->GetView<ROOT::RNTupleCardinality<std::uint64_t>>("particles");
    auto particles = reader->GetCollectionView("particles");
    auto energy_view = particles.GetView<float>("_0");
    auto ids = id_view.CreateBulk(), lengths = length_view.CreateBulk(), energies = energy_view.CreateBulk();
    std::size_t largest = 0;
    Sums sums;
    std::unique_ptr<bool[]> all;
    for (auto const& cluster : clusters) {
        auto const last = particles.GetCollectionRange(cluster.first + cluster.events - 1);
        std::uint64_t const items = (*last.end()).GetIndexInCluster();
        if (auto const most = std::max<std::size_t>(items, cluster.events); most > largest) {
            largest = most;
            all = std::make_unique<bool[]>(largest);
            std::fill_n(all.get(), largest, true);
        }
        ROOT::RNTupleLocalIndex const begin(cluster.id, 0);
        auto const* const id = static_cast<std::uint64_t*>(ids.ReadBulk(begin, all.get(), cluster.events));
        lengths.ReadBulk(begin, all.get(), cluster.events);
        auto const* const energy = static_cast<float*>(energies.ReadBulk(begin, all.get(), items));
        sums.ids += id[cluster.events - 1];
        sums.energy += items == 0 ? 0.0F : energy[items - 1];
        sums.energies += items;
    }
    return sums;
}

template <class Read> Sums in_threads(std::vector<Reader>& readers, Read read) {
    auto const clusters = clusters_of(readers[0]);
    std::vector<Sums> sums(readers.size());
    std::vector<std::jthread> threads;
    for (std::size_t index = 0; index < readers.size(); ++index) {
        threads.emplace_back([&, index] {
            auto const begin = clusters.begin() + static_cast<long>(clusters.size() * index / readers.size());
            auto const end = clusters.begin() + static_cast<long>(clusters.size() * (index + 1) / readers.size());
            sums[index] = read(readers[index], {begin, end});
        });
    }
    threads.clear();
    return std::accumulate(sums.begin(), sums.end(), Sums{}, [](Sums const& a, Sums const& b) {
        return Sums{a.ids + b.ids, a.energies + b.energies, a.energy + b.energy};
    });
}

Sums read_dataframe(std::string const& path) {
    ROOT::RDataFrame frame("events", path);
    auto ids = frame.Sum<std::uint64_t>("eventId");
    auto energy = frame.Sum<ROOT::RVec<float>>("particles", 0.0);
    auto lengths = frame.Sum<std::uint64_t>("R_rdf_sizeof_particles");
    return {*ids, *lengths, *energy};
}

} // namespace

int main(int count, char** words) {
    if (count != 5) {
        std::fprintf(stderr, "root_read PATH PASSES THREADS bulk|views|dataframe\n");
        return 2;
    }
    std::string const path = words[1], how = words[4];
    auto const passes = std::strtoull(words[2], nullptr, 10), threads = std::strtoull(words[3], nullptr, 10);
    ROOT::EnableThreadSafety();
    if (how == "dataframe" && threads > 1) ROOT::EnableImplicitMT(static_cast<unsigned>(threads));
    std::vector<double> seconds;
    double used_cpu_s = 0;
    Sums sums;
    std::uint64_t events = 0;
    for (std::uint64_t pass = 0; pass <= passes; ++pass) {
        std::vector<Reader> readers; // opened before the clock starts, as Thalweg's is
        for (std::uint64_t index = 0; index < threads; ++index) {
            readers.push_back(ROOT::RNTupleReader::Open("events", path));
            events = readers.back()->GetDescriptor().GetNEntries();
        }
        auto const begin = std::chrono::steady_clock::now();
        auto const begin_cpu_s = thalweg::study::process_cpu_s();
        if (how == "bulk") sums = in_threads(readers, read_bulk);
        if (how == "views") sums = in_threads(readers, read_views);
        if (how == "dataframe") sums = read_dataframe(path);
        if (pass == 0) continue;
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        used_cpu_s += thalweg::study::process_cpu_s() - begin_cpu_s;
    }
    std::sort(seconds.begin(), seconds.end());
    auto const median_s = seconds[seconds.size() / 2];
    auto const raw_bytes = 16 * events + 4 * sums.energies;
    auto const gigabytes = static_cast<double>(raw_bytes) * 1e-9;
    std::printf("{\"seconds\": %.6f, \"raw_bytes\": %ju, \"GB_per_s\": %.6f, \"cpu_s_per_GB\": %.6f, "
                "\"sum_of_ids\": %ju, \"sum_of_energies\": %.3f}\n",
                median_s, std::uintmax_t{raw_bytes}, gigabytes / median_s,
                used_cpu_s / static_cast<double>(passes) / gigabytes, std::uintmax_t{sums.ids}, sums.energy);
}
