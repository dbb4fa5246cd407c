// A data handler serves the fragments of one DMA buffer to clients. It goes through the states of run control.
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
    // Checks the configuration and touches nothing. The state is then `initial`.
    explicit Handler(HandlerConfig config);
    ~Handler();

    // initial or stopped -> configured: prepares memory, hooks and the server's address. Throws if one is not
    // available.
    void configure();
    // configured -> running. Waits for the card for up to `timeout_ns`; throws base::SystemError if there is none.
    // A caller that `tries_again` does so at once; `not_ready` says which it is.
    void start(std::uint32_t run, std::uint64_t timeout_ns, bool tries_again = false);
    // running <-> paused: a paused handler leaves blocks in the buffer.
    void pause();
    void resume();
    // running or paused -> stopped: builds what the buffer holds, closes open events, and waits for collectors for up
    // to `drain_ns`.
    void stop(std::uint64_t drain_ns);
    // Lets `stop`, in another thread, wait no longer for collectors: what is built and not fetched is discarded, and
    // the report is complete when `stop` has returned. No run can begin afterwards that would wait at its end.
    void cut_short();

    ReadoutState state() const;
    std::uint32_t run() const;
    std::string address() const; // address of the server
    HandlerConfig const& config() const { return config_; }

    // The current or the last run: what came in and where it went, by stream and by group.
    struct Report {
        std::uint32_t run = 0;
        std::vector<GroupReport> groups;
        BuilderCounters builder;      // over all cards of the run
        std::uint64_t cards_gone = 0; // how often the card fell silent or was restarted
        std::uint64_t server_cpu_ns = 0;
        std::uint64_t fragments_sent = 0;
        std::uint64_t bytes_sent = 0;

        bool ended = false; // nothing more is built: what is kept is discarded unless a collector asks for it

        // Rule 6: packets = delivered + duplicate + late + out of window + orphaned, for every stream. At the end also
        // invariant R4: built = cleared + evicted + skipped + discarded, for every group.
        bool balances() const;
        // Returns the fragments of all groups that no collector has, without those that the configuration allowed to
        // evict.
        std::uint64_t lost() const;
    };
    Report report() const;
    // Returns why nothing is read (the state and what would change it, a card that is not there or gone), or an empty
    // text if all is well.
    std::string not_ready() const;
    // Returns what is wrong with the card of a run: it is gone, the next one cannot be used, or it sends nothing of a
    // group; an empty text if nothing is. Unlike the text of `not_ready`, it stays the same while nothing changes.
    std::string trouble() const;
    std::vector<trace::Sample> samples() const;

  private:
    struct Run;

    std::vector<GroupReport> group_reports() const THALWEG_REQUIRES(run_mutex_);
    std::uint64_t discarded_before() const;
    void begin_run(std::uint32_t number, std::uint64_t timeout_ns);
    void note_first_start();
    void note_start(std::string text);
    std::unique_ptr<Server> listen() const;
    std::string why_idle(ReadoutState state) const;
    std::string trouble_of_card() const THALWEG_REQUIRES(run_mutex_);
    felix::DmaReader wait_for_card(std::uint64_t timeout_ns) const;
    void check_depth(felix::BlockFormat const& format) const;
    void start_builder(felix::DmaReader reader) THALWEG_REQUIRES(run_mutex_);
    void watch_card(std::stop_token const& stop);
    void change_card(felix::DmaReader reader);
    void require(std::initializer_list<ReadoutState> states, char const* verb) const;

    HandlerConfig config_;
    std::uint64_t instance_;
    std::atomic<ReadoutState> state_ = ReadoutState::initial;
    std::shared_ptr<HookLibrary> hook_;
    std::unique_ptr<Server> server_;
    // The run, for the threads that change it: run control and the watcher of the card, of which only one acts at a
    // time. They may read it without the mutex, which protects it from threads that only read.
    Run& own_run() THALWEG_UNCHECKED_LOCKS { return *run_; }

    mutable base::Mutex run_mutex_;
    std::unique_ptr<Run> run_ THALWEG_GUARDED_BY(run_mutex_);
    std::string start_note_ THALWEG_GUARDED_BY(run_mutex_);             // why the last start has not begun a run
    std::uint64_t discarded_before_ THALWEG_GUARDED_BY(run_mutex_) = 0; // including the runs before this one
    std::stop_source cut_short_;
    std::jthread watcher_; // watches the card
};

} // namespace thalweg::readout
