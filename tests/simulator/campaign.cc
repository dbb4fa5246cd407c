#include "tests/simulator/campaign.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <new>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/simulator/judge.h"
#include "thalweg/base/clock.h"

namespace thalweg::simulator {
namespace {

// What a killed process left on its stack is never freed, so a process plays only so many.
constexpr std::uint64_t kHistoriesOfAProcess = 200;
constexpr unsigned kLongestHistorySeconds = 120;
constexpr std::size_t kMostFindings = 64;

struct SharedFinding {
    std::uint64_t seed;
    Container container;
    std::array<char, 1000> text;
};

// Shared by all processes of a campaign.
struct Board {
    struct Job {
        Totals hdf5, rntuple;
        std::uint64_t seed;
        Container container;
        std::uint64_t played;
    };
    std::array<Job, 64> jobs;
    std::uint32_t findings;
    std::array<SharedFinding, kMostFindings> found;

    void add(std::uint64_t seed, Container container, std::string const& text) {
        auto const place = __atomic_fetch_add(&findings, 1, __ATOMIC_SEQ_CST);
        if (place >= kMostFindings) return;
        found[place].seed = seed;
        found[place].container = container;
        text.copy(found[place].text.data(), found[place].text.size() - 1);
    }
};

void play_some(Board& board, Board::Job& job, unsigned number, CampaignOptions const& options, std::uint64_t end_ns) {
    Workshop workshop;
    for (std::uint64_t i = 0; i < kHistoriesOfAProcess && job.played < options.histories; ++i) {
        if (base::monotonic_ns() >= end_ns) return;
        job.seed = options.first_seed + job.played * options.jobs + number;
        job.container = options.container.value_or(job.played % 2 == 0 ? Container::hdf5 : Container::rntuple);
        ::alarm(kLongestHistorySeconds);
        std::vector<std::string> faults;
        auto const totals = play(workshop, job.container, job.seed, options.states, options.lying_file, faults);
        (job.container == Container::hdf5 ? job.hdf5 : job.rntuple).add(totals);
        for (auto const& fault : faults) board.add(job.seed, job.container, fault);
        ++job.played;
    }
}

void run_job(Board& board, unsigned number, CampaignOptions const& options, std::uint64_t end_ns) {
    auto& job = board.jobs[number];
    while (base::monotonic_ns() < end_ns && job.played < options.histories) {
        auto const child = ::fork();
        if (child == 0) {
            play_some(board, job, number, options, end_ns);
            ::_exit(0);
        }
        int status = 0;
        if (child < 0 || ::waitpid(child, &status, 0) != child) return;
        if (!WIFSIGNALED(status)) continue;
        auto const* const name = ::strsignal(WTERMSIG(status));
        board.add(job.seed, job.container, fmt::format("the program was ended by a signal: {}", name));
        ++(job.container == Container::hdf5 ? job.hdf5 : job.rntuple).faults;
        ++job.played;
    }
}

} // namespace

void Totals::add(Totals const& other) {
    histories += other.histories;
    states += other.states;
    history_ns += other.history_ns;
    state_ns += other.state_ns;
    faults += other.faults;
    closed += other.closed;
    resumed += other.resumed;
    ordered += other.ordered;
    rows += other.rows;
    promised_rows += other.promised_rows;
}

Totals play(Workshop& workshop, Container container, std::uint64_t seed, std::uint64_t states,
            std::string const& lying_file, std::vector<std::string>& faults) {
    constexpr std::size_t kSnapshots = 6;
    Totals totals;
    totals.histories = 1;
    auto const begin_ns = base::thread_cpu_ns();
    auto const history = run_history(workshop, container, seed, kSnapshots, lying_file);
    auto const middle_ns = base::thread_cpu_ns();
    faults = history.faults;
    totals.closed = history.snapshots.back().promises.closed ? 1 : 0;
    totals.resumed = history.resumed;
    totals.ordered = history.ordered ? 1 : 0;
    std::string const path = std::string(kDirectory) + (container == Container::hdf5 ? "/run.h5" : "/run.root");
    for (std::size_t i = 0; i < history.snapshots.size() && faults.empty(); ++i) {
        auto const verdict = judge(workshop, path, history.snapshots[i], mix(seed) + i * 1000, states);
        totals.states += verdict.states;
        totals.rows += verdict.rows;
        totals.promised_rows += verdict.promised_rows;
        for (auto const& fault : verdict.faults) faults.push_back(fmt::format("stopped at point {}: {}", i, fault));
    }
    totals.history_ns = middle_ns - begin_ns;
    totals.state_ns = base::thread_cpu_ns() - middle_ns;
    totals.faults = faults.empty() ? 0 : 1;
    return totals;
}

CampaignResult run_campaign(CampaignOptions const& options) {
    void* const memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    auto& board = *new (memory) Board{};
    auto const end_ns = base::monotonic_ns() + static_cast<std::uint64_t>(options.seconds * 1e9);
    auto const jobs = std::min<std::size_t>(std::max(1u, options.jobs), board.jobs.size());
    for (unsigned number = 0; number < jobs; ++number) {
        if (::fork() == 0) {
            run_job(board, number, options, end_ns);
            ::_exit(0);
        }
    }
    while (::wait(nullptr) > 0) {
    }
    CampaignResult result;
    for (auto const& job : board.jobs) {
        result.hdf5.add(job.hdf5);
        result.rntuple.add(job.rntuple);
    }
    for (std::size_t i = 0; i < std::min<std::size_t>(board.findings, kMostFindings); ++i)
        result.findings.push_back({board.found[i].seed, board.found[i].container, board.found[i].text.data()});
    ::munmap(memory, sizeof(Board));
    return result;
}

} // namespace thalweg::simulator
