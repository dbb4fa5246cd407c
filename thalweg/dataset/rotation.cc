// A run goes on in another file.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "thalweg/base/error.h"
#include "thalweg/dataset/begin/earlier_files.h"
#include "thalweg/dataset/begin/metadata.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/dataset/run/unit_group.h"
#include "thalweg/dataset/writer.h"

namespace thalweg::dataset {

std::unique_ptr<Writer> Writer::create_next(std::string const& path, CreateOptions const& asked,
                                            std::map<std::string, std::string> metadata) {
    check_open();
    if (run_->node) {
        base::fail_usage({"cannot continue " + this->path() + " in " + path,
                          "a run of several nodes cannot go on in another file yet", "close it, and begin another"});
    }
    check_same_order(this->path(), asked.keys_per_group, run_->head);
    auto options = asked;
    options.keys_per_group = run_->head.keys_per_group;
    static_cast<void>(handle()); // of a run for this process alone there is no next file
    check_given(path, metadata);
    auto all = previous_file(this->path(), run_->head.id);
    all.merge(metadata);
    return create_at(path, run_->head.schema, options, std::move(all), this);
}

// It is durable before a unit can be committed there: else this file could be resumed, and work repeated that is done.
void Writer::journal_next(Writer const& next) {
    committer()->append_metadata(nlohmann::json(next_file(next.path(), next.run_->head.id)).dump());
    // A descriptor of its own, so that no error is taken from the flush that would hear of it.
    RunPlace(path()).open_journal(storage::OpenMode::read_write).main->sync();
}

void Writer::continue_in(Writer const& next) {
    check_open();
    auto const name = next.handle();
    if (run_->ledger->series() != next.run_->ledger->series()) {
        base::fail_usage({fmt::format("{} cannot go on in {}", path(), next.path()),
                          "that file was not created as the one behind it", "make it with create_next"});
    }
    auto& head = run_->ledger->head();
    name.copy(head.next_ledger, sizeof head.next_ledger - 1);
    head.has_next.store(1, std::memory_order_release);
}

} // namespace thalweg::dataset
