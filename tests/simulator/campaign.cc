#include "tests/simulator/campaign.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <new>
#include <span>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/simulator/judge.h"
#include "tests/simulator/node_judge.h"
#include "thalweg/base/clock.h"

namespace thalweg::simulator {
namespace {

// The stack of a killed process is never freed, so one process plays a limited number of histories.
constexpr std::uint64_t kHistoriesOfAProcess = 200;
constexpr unsigned kLongestHistoryCpuSeconds = 120;
// The limit for a history that waits for something that is not simulated. It is long, because other work on the machine
// may leave it no processor.
constexpr unsigned kLongestHistorySeconds = 7200;
constexpr std::uint64_t kOneInTurn = 8; // two of them have several nodes
constexpr std::size_t kMostFindings = 64;
constexpr std::uint64_t kTellNs = 5'000'000'000;
constexpr std::uint64_t kLookNs = 20'000'000;

volatile std::sig_atomic_t end_asked_for = 0;

void ask_for_end(int /*signal*/) { end_asked_for = 1; }

// While it exists, SIGTERM and SIGINT are noted and have no other effect.
class SignalsNoted {
  public:
    SignalsNoted() {
        end_asked_for = 0;
        struct sigaction action = {};
        action.sa_handler = ask_for_end;
        action.sa_flags = SA_RESTART; // waits for a process go on
        ::sigaction(SIGTERM, &action, &term_before_);
        ::sigaction(SIGINT, &action, &int_before_);
    }
    SignalsNoted(SignalsNoted const&) = delete;
    SignalsNoted& operator=(SignalsNoted const&) = delete;
    ~SignalsNoted() {
        ::sigaction(SIGTERM, &term_before_, nullptr);
        ::sigaction(SIGINT, &int_before_, nullptr);
    }

  private:
    struct sigaction term_before_ = {}, int_before_ = {};
};

struct SharedFinding {
    std::uint64_t seed;
    Kind kind;
    std::array<char, 1000> text;
    bool whole;
};

// Shared by all processes of a campaign.
struct Board {
    struct Job {
        std::array<Totals, kKinds.size()> totals;
        std::uint64_t seed;
        Kind kind;
        std::uint64_t played;
    };
    std::array<Job, 64> jobs;
    std::uint32_t findings;
    bool is_over; // the campaign must end
    std::array<SharedFinding, kMostFindings> found;

    void add(std::uint64_t seed, Kind kind, std::string const& text) {
        auto const place = __atomic_fetch_add(&findings, 1, __ATOMIC_SEQ_CST);
        if (place >= kMostFindings) return;
        found[place].seed = seed;
        found[place].kind = kind;
        text.copy(found[place].text.data(), found[place].text.size() - 1);
        __atomic_store_n(&found[place].whole, true, __ATOMIC_RELEASE);
    }

    bool goes_on(CampaignOptions const& options, std::uint64_t end_ns) const {
        return !__atomic_load_n(&is_over, __ATOMIC_RELAXED) && base::monotonic_ns() < end_ns &&
               __atomic_load_n(&findings, __ATOMIC_RELAXED) < options.findings;
    }
};

// Ends a player whose parent has ended, because its results would not be counted. If the parent has already ended, this
// comes too late, and `alarm` or the end of the time ends the player.
// end of the time ends them.
void end_with_parent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

// Limits the time of the history that begins.
void limit_time() {
    ::alarm(kLongestHistorySeconds);
    itimerval limit{};
    limit.it_value.tv_sec = kLongestHistoryCpuSeconds;
    ::setitimer(ITIMER_PROF, &limit, nullptr);
}

void play_some(Board& board, Board::Job& job, unsigned number, CampaignOptions const& options, std::uint64_t end_ns) {
    Workshop workshop;
    for (std::uint64_t i = 0; i < kHistoriesOfAProcess && job.played < options.histories; ++i) {
        if (!board.goes_on(options, end_ns)) return;
        job.seed = options.first_seed + job.played * options.jobs + number;
        job.kind = {options.container.value_or(job.played % 2 == 0 ? Container::hdf5 : Container::rntuple),
                    options.of_nodes.value_or(job.played % kOneInTurn >= kOneInTurn - 2)};
        limit_time();
        std::vector<std::string> faults;
        job.totals[number_of(job.kind)].add(play(workshop, job.kind, job.seed, options, faults));
        for (auto const& fault : faults) board.add(job.seed, job.kind, fault);
        ++job.played;
    }
}

void run_job(Board& board, unsigned number, CampaignOptions const& options, std::uint64_t end_ns) {
    auto& job = board.jobs[number];
    while (board.goes_on(options, end_ns) && job.played < options.histories) {
        auto const child = ::fork();
        if (child == 0) {
            end_with_parent();
            play_some(board, job, number, options, end_ns);
            ::_exit(0);
        }
        int status = 0;
        if (child < 0 || ::waitpid(child, &status, 0) != child) return;
        if (!WIFSIGNALED(status)) continue;
        auto const* const name = ::strsignal(WTERMSIG(status));
        board.add(job.seed, job.kind, fmt::format("the program was ended by a signal: {}", name));
        ++job.totals[number_of(job.kind)].faults;
        ++job.played;
    }
}

CampaignResult sum_of(Board const& board) {
    CampaignResult result;
    for (auto const& job : board.jobs) {
        for (std::size_t i = 0; i < kKinds.size(); ++i) result.totals[i].add(job.totals[i]);
    }
    auto const findings = std::min<std::size_t>(__atomic_load_n(&board.findings, __ATOMIC_ACQUIRE), kMostFindings);
    for (auto const& found : std::span(board.found).first(findings)) {
        if (!__atomic_load_n(&found.whole, __ATOMIC_ACQUIRE)) break; // reported later
        result.findings.push_back({found.seed, found.kind, found.text.data()});
    }
    return result;
}

} // namespace

namespace {

constexpr std::array kCounts = {
    &Totals::histories,    &Totals::states,         &Totals::history_ns,    &Totals::state_ns,          &Totals::faults,
    &Totals::closed,       &Totals::resumed,        &Totals::further_files, &Totals::ordered,           &Totals::copies,
    &Totals::shown,        &Totals::machine_deaths, &Totals::machine_stops, &Totals::recovered_stopped, &Totals::rows,
    &Totals::promised_rows};
static_assert(sizeof(Totals) == kCounts.size() * sizeof(std::uint64_t), "every count is summed up");

} // namespace

void Totals::add(Totals const& other) {
    for (auto const count : kCounts) this->*count += other.*count;
}

Totals Totals::since(Totals const& before) const {
    Totals more = *this;
    for (auto const count : kCounts) more.*count -= before.*count;
    return more;
}

CampaignResult CampaignResult::since(CampaignResult const& before) const {
    CampaignResult more;
    for (std::size_t i = 0; i < totals.size(); ++i) more.totals[i] = totals[i].since(before.totals[i]);
    more.findings.assign(findings.begin() + static_cast<std::ptrdiff_t>(before.findings.size()), findings.end());
    return more;
}

Totals CampaignResult::all() const {
    Totals all;
    for (auto const& each : totals) all.add(each);
    return all;
}

namespace {

constexpr std::size_t kSnapshots = 6;

std::string path_of(Kind kind) { return std::string(kDirectory) + "/run." + kind.name(); }

void add(Verdict const& verdict, std::size_t point, Totals& totals, std::vector<std::string>& faults) {
    totals.states += verdict.states;
    totals.copies += verdict.copies;
    totals.shown += verdict.shown;
    totals.resumed += verdict.resumed;
    totals.rows += verdict.rows;
    totals.promised_rows += verdict.promised_rows;
    for (auto const& fault : verdict.faults) faults.push_back(fmt::format("stopped at point {}: {}", point, fault));
}

// Returns the time of its end, on the clock of this thread.
std::uint64_t play_one(Workshop& workshop, Kind kind, std::uint64_t seed, CampaignOptions const& options,
                       Totals& totals, std::vector<std::string>& faults) {
    auto const history = run_history(workshop, kind.container, seed, kSnapshots, options.lying_file);
    auto const end_ns = base::thread_cpu_ns();
    faults = history.faults;
    totals.closed = history.snapshots.back().promises.closed ? 1 : 0;
    totals.resumed = history.resumed;
    totals.further_files = history.files - std::min<std::uint64_t>(1, history.files);
    totals.copies = history.copies;
    totals.ordered = history.ordered ? 1 : 0;
    for (std::size_t i = 0; i < history.snapshots.size() && faults.empty(); ++i)
        add(judge(workshop, path_of(kind), history.snapshots, i, mix(seed) + i * 1000, options.states), i, totals,
            faults);
    return end_ns;
}

std::uint64_t play_nodes(Workshop& workshop, Kind kind, std::uint64_t seed, CampaignOptions const& options,
                         Totals& totals, std::vector<std::string>& faults) {
    auto const history =
        run_node_history(workshop, kind.container, seed, kSnapshots, {options.lying_file, options.lying_to});
    auto const end_ns = base::thread_cpu_ns();
    faults = history.faults;
    totals.closed = history.snapshots.back().promises.any_closed() ? 1 : 0;
    totals.machine_deaths = history.deaths;
    totals.machine_stops = history.stops;
    totals.recovered_stopped = history.recovered;
    for (std::size_t i = 0; i < history.snapshots.size() && faults.empty(); ++i)
        add(judge_nodes(workshop, path_of(kind), history.snapshots[i], mix(seed) + i * 1000, options.states), i, totals,
            faults);
    return end_ns;
}

} // namespace

Totals play(Workshop& workshop, Kind kind, std::uint64_t seed, CampaignOptions const& options,
            std::vector<std::string>& faults) {
    Totals totals;
    totals.histories = 1;
    auto const begin_ns = base::thread_cpu_ns();
    auto const middle_ns = kind.of_nodes ? play_nodes(workshop, kind, seed, options, totals, faults)
                                         : play_one(workshop, kind, seed, options, totals, faults);
    totals.history_ns = middle_ns - begin_ns;
    totals.state_ns = base::thread_cpu_ns() - middle_ns;
    totals.faults = faults.empty() ? 0 : 1;
    return totals;
}

CampaignResult run_campaign(CampaignOptions const& options, TellProgress const& tell) {
    void* const memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    auto& board = *new (memory) Board{};
    SignalsNoted const noted; // the players note them, too: a terminal sends them to all processes
    auto const end_ns = base::monotonic_ns() + static_cast<std::uint64_t>(options.seconds * 1e9);
    auto const jobs = std::min<std::size_t>(std::max(1u, options.jobs), board.jobs.size());
    for (unsigned number = 0; number < jobs; ++number) {
        if (::fork() == 0) {
            end_with_parent();
            run_job(board, number, options, end_ns);
            ::_exit(0);
        }
    }
    CampaignResult told;
    auto const tell_more = [&] {
        auto const now = sum_of(board);
        if (tell) tell(now.since(told));
        told = now;
    };
    auto tell_ns = base::monotonic_ns() + kTellNs;
    for (pid_t ended = 0; ended >= 0;) {
        if (end_asked_for != 0) __atomic_store_n(&board.is_over, true, __ATOMIC_RELAXED);
        if (base::monotonic_ns() >= tell_ns) {
            tell_more();
            tell_ns = base::monotonic_ns() + kTellNs;
        }
        ended = ::waitpid(-1, nullptr, WNOHANG);
        if (ended == 0) base::sleep_ns(kLookNs);
    }
    tell_more();
    ::munmap(memory, sizeof(Board));
    return told;
}

} // namespace thalweg::simulator
