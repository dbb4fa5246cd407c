// What the committer asks of the machine now and then: whether producers live, where the file is, how other nodes are.
// No question ends a run: what gets no answer is said, and asked again at the next look.
#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/base/say.h"
#include "thalweg/dataset/commit/committer.h"

namespace thalweg::dataset {

// Each may have finished since it was drained: only behind its death it is known whether it has.
void Committer::look_for_dead() {
    for (auto const& producer : producers_.all()) {
        if (is_dead(*producer)) settle(*producer, !producers_.is_finished(*producer));
    }
    producers_.drop_settled();
}

// A question that the machine does not answer is no answer: the producer lives until the next look says otherwise.
bool Committer::is_dead(ProducerIntake const& producer) {
    try {
        return producers_.is_dead(producer);
    } catch (base::SystemError const& error) {
        say_once(fmt::format("cannot see whether producer {} of {} lives ({}): the run goes on, and looks again",
                             producer.number(), run_.path(), error.what()));
        return false;
    }
}

void Committer::look_for_file() {
    if (!watch_) return;
    auto const place = watch_->look();
    auto problem = place.problem;
    if (place.state == FileState::unknown) problem += ": the run goes on, and looks again";
    if (!problem.empty() && problem != file_problem_) base::say(problem);
    file_problem_ = std::move(problem);
}

void Committer::say_once(std::string const& problem) {
    if (said_.insert(problem).second) base::say(problem);
}

// If the others cannot complete the run, what is still appended here would be promised in vain.
void Committer::look_for_nodes() {
    if (!node_watch_ || run_.ledger->head().state == LedgerState::failed) return;
    try {
        auto const problem = node_watch_->problem();
        for (auto const& death : node_watch_->new_deaths())
            base::say(fmt::format("{} goes on without {}", run_.path(), death));
        end_without_others(problem);
    } catch (base::SystemError const& error) { // each flush looks, too, before it calls anything durable
        say_once(fmt::format("cannot see how the other nodes of {} are ({}): the run goes on, and looks again",
                             run_.path(), error.what()));
    }
}

// Nothing counts that is in a journal which no node reads any more, and nothing counts as durable if that cannot be
// asked.
bool Committer::is_journal_read() {
    try {
        auto const problem = run_.node->superseded();
        end_without_others(problem);
        return problem.empty();
    } catch (base::SystemError const&) {
        return false;
    }
}

void Committer::end_without_others(std::string const& problem) {
    if (!problem.empty() && run_.ledger->head().state != LedgerState::failed)
        run_.ledger->fail(fmt::format("{} takes no more rows ({})", run_.path(), problem));
}

} // namespace thalweg::dataset
