// A Data Handler: one DMA buffer, its fragments, and whoever asks for them. It goes through the states of run control.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "thalweg/base/thread.h"
#include "thalweg/felix/dma_buffer.h"
#include "thalweg/readout/builder/builder.h"
#include "thalweg/readout/config.h"
#include "thalweg/readout/server/server.h"
#include "thalweg/trace/sample.h"

namespace thalweg::readout {

class Handler {
  public:
    // State initial: the configuration is checked, nothing is touched.
    explicit Handler(HandlerConfig config);
    ~Handler();

    // initial or stopped -> configured: memory, hooks and the server's address. Throws where one cannot be had.
    void configure();
    // configured -> running. Waits for the card up to `timeout_ns`; throws base::SystemError where there is none.
    void start(std::uint32_t run, std::uint64_t timeout_ns);
    // running <-> paused: blocks are left in the buffer.
    void pause();
    void resume();
    // running or paused -> stopped: what the buffer holds is built, open events are closed, collectors may fetch the
    // rest for up to `drain_ns`.
    void stop(std::uint64_t drain_ns);

    State state() const;
    std::uint32_t run() const;
    std::string address() const; // of the server
    HandlerConfig const& config() const { return config_; }

    // Of the running or last run: what came in and what became of it, by stream and by group.
    struct Report {
        std::uint32_t run = 0;
        std::vector<GroupReport> groups;
        BuilderCounters builder;      // over all cards of the run
        std::uint64_t cards_gone = 0; // how often the card fell silent or was started anew
        std::uint64_t server_cpu_ns = 0;
        std::uint64_t fragments_sent = 0;
        std::uint64_t bytes_sent = 0;

        bool ended = false; // nothing more is built: what is kept is discarded, if nobody comes for it

        // Rule 6: packets = delivered + duplicate + late + out of window + orphaned, for every stream. And invariant 7,
        // at the end: built = cleared + evicted + skipped + discarded, for every group.
        bool balances() const;
        // Fragments of all groups that nobody has, and nobody wanted to have evicted.
        std::uint64_t lost() const;
    };
    Report report() const;
    // Why no events come: the state, a card that is gone; empty: all is well.
    std::string not_ready() const;
    std::vector<trace::Sample> samples() const;

  private:
    struct Run;

    std::vector<GroupReport> group_reports() const THALWEG_REQUIRES(run_mutex_);
    std::uint64_t discarded_before() const;
    felix::DmaReader wait_for_card(std::uint64_t timeout_ns) const;
    void check_depth(felix::BlockFormat const& format) const;
    void start_builder(felix::DmaReader reader) THALWEG_REQUIRES(run_mutex_);
    void watch_card(std::stop_token const& stop);
    void change_card(felix::DmaReader reader);
    void require(std::initializer_list<State> states, char const* verb) const;

    HandlerConfig config_;
    std::uint64_t instance_;
    std::atomic<State> state_ = State::initial;
    std::shared_ptr<HookLibrary> hook_;
    std::unique_ptr<Server> server_;
    // The run, for those who change it: who controls and the watcher of the card, one at a time. They may look at it
    // without the mutex, which is against those who only look.
    Run& own_run() THALWEG_UNCHECKED_LOCKS { return *run_; }

    mutable base::Mutex run_mutex_;
    std::unique_ptr<Run> run_ THALWEG_GUARDED_BY(run_mutex_);
    std::uint64_t discarded_before_ THALWEG_GUARDED_BY(run_mutex_) = 0; // with the runs before this one
    std::jthread watcher_;                                              // of the card
};

} // namespace thalweg::readout
