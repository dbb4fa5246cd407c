// A run that the ranks of a communicator write together, on one machine or several. They use the communicator when the
// run begins and when it ends, and not between: no write waits for another rank.
//
// States, and what moves them on. In brackets: what the communicator is used for.
//
//     begun      begin [lowest rank of each machine; agree]: these ranks become the nodes of the run. The others attach
//        |       to the node of their machine.
//     written    producer, work_unit: without the communicator
//        |
//     ended      close [agree]: no rank has abandoned the run. [agree]: the attached ranks have finished their units
//        |
//     closed     close [agree]: the nodes complete the file; the other ranks wait for their answer
//
// Invariants:
//
//  1. All ranks make the same calls of the communicator: a rank that fails or abandons says so in the agreement in
//  which
//     the others wait for it.
//  2. Only the lowest rank of a machine has a Writer. It ends after the ranks that are attached to it.
//  3. If any rank fails or abandons, no rank completes the file; `recover` does.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "thalweg/dataset/writer.h"
#include "thalweg/ranks/communicator.h"

namespace thalweg::dataset {

class SharedRun {
  public:
    // All ranks call it, with the same path and schema; options and metadata are those of rank 0. The lowest rank of
    // each machine becomes a node of the run, the others attach to it. `comm` must be there as long as the run. Where
    // any rank fails, all throw its error, with the number of the first that did.
    static std::unique_ptr<SharedRun> create(ranks::Communicator& comm, std::string const& path, model::Schema schema,
                                             CreateOptions options = {},
                                             std::map<std::string, std::string> metadata = {});
    // The same of a run that goes on after all ranks have died, see Writer::resume: with as many machines, of which
    // each is the node that it was. Where a schema is given it has to be that of the run.
    static std::unique_ptr<SharedRun> resume(ranks::Communicator& comm, std::string const& path,
                                             std::optional<model::Schema> schema = {}, CreateOptions options = {});
    // A rank whose request is wrong already calls it in the place of `create` and `resume`: all ranks throw `why` then.
    [[noreturn]] static void refuse(ranks::Communicator& comm, std::string const& path, std::exception_ptr const& why);
    SharedRun(SharedRun const&) = delete;
    SharedRun& operator=(SharedRun const&) = delete;
    // A run that was not closed is abandoned.
    ~SharedRun();

    std::string const& path() const { return path_; }
    model::Schema const& schema() const { return writer_ ? writer_->head().schema : run_->head.schema; }

    // One for each thread; it has to be finished, or gone, before `close`.
    Producer producer(std::string const& table);
    // See Writer::work_unit.
    WorkUnit work_unit(UnitKey const& key, std::string summary = {});
    WorkUnits& work_units() { return writer_ ? writer_->work_units() : *units_; }

    // All ranks call it. Completes the file, or throws on all ranks, naming the first that failed: `recover` completes
    // the file then. Has a result on the lowest rank of each machine.
    std::optional<CompleteResult> close(std::uint64_t timeout_ns);

    // Ends the run for all ranks, without completing the file. The `close` of the others throws `why`, and this call
    // waits for it.
    void abandon(std::exception_ptr const& why) noexcept;
    void abandon(std::string const& reason) noexcept; // which the others throw as a base::SystemError

  private:
    SharedRun(ranks::Communicator& comm, std::string path);
    // Begins the node, where this rank is the lowest of its machine, and attaches to it, where it is not.
    struct Beginning {
        std::optional<model::Schema> schema;
        CreateOptions options;
        std::map<std::string, std::string> metadata;
        bool resumes = false;
    };
    static std::unique_ptr<SharedRun> begun(ranks::Communicator& comm, std::string const& path, Beginning beginning);
    void begin(Beginning beginning);
    void begin_node(Beginning&& beginning, std::uint32_t node, std::uint32_t nodes);
    void attach_to(std::string const& handle, std::optional<model::Schema> const& schema,
                   std::function<void()> const& while_waiting);
    template <class Work> void together(Work const& work);

    ranks::Communicator& comm_;
    std::string path_;
    std::string problem_;
    std::unique_ptr<Writer> writer_; // of the lowest rank of a machine; the others have
    std::shared_ptr<OpenRun> run_;
    std::unique_ptr<WorkUnits> units_;
    bool ended_ = false;
};

} // namespace thalweg::dataset
