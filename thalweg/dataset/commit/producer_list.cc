#include "thalweg/dataset/commit/producer_list.h"

#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"

namespace thalweg::dataset {
namespace {

constexpr std::size_t kMostAbandoned = 10; // that are named one by one

std::uint64_t bytes_in_no_page(Staging const& staging) {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < staging.columns(); ++i) {
        auto const& column = staging.column(i);
        auto const counted = staging.items_counted(i);
        bytes += (counted - std::min(column.released.load(), counted)) * column.item_bytes;
    }
    return bytes;
}

} // namespace

ProducerList::ProducerList(OpenRun& run, StatusBoard const& board)
    : run_(run), board_(board), met_(run.ledger->slots()), ended_(run.head.schema.tables.size()) {}

void ProducerList::admit(JournalWriter& journal) {
    auto& ledger = *run_.ledger;
    auto const used = ledger.slots_used();
    for (std::size_t index = 0; index < used; ++index) {
        auto& slot = ledger.slot(index);
        if (met_[index] || slot.taker == 0) continue;
        // A dead process changes its state no more: so that is asked first, and then how far it has come. In the other
        // order it may have begun, committed and died in between, and its rows would be taken for none.
        if (slot.state < SlotState::active) {
            if (!is_known_orphan(index)) continue;
            for (auto const state : {SlotState::free, SlotState::attaching}) slot.change(state, SlotState::settled);
        }
        if (slot.state == SlotState::settled) { // it never had any rows
            ledger.free_slot(index);
            continue;
        }
        auto intake = std::make_unique<ProducerIntake>(ledger, run_.head, index, journal);
        met_[index] = true;
        base::Lock const lock(mutex_);
        note_need(*intake);
        producers_.push_back(std::move(intake));
    }
}

void ProducerList::note_need(ProducerIntake const& producer) {
    auto const& head = producer.staging().head();
    if (head.needed_bytes > need_.bytes) need_ = {head.needed_bytes, head.needed_by, producer.table()};
}

std::string ProducerList::need_in_words() const {
    if (need_.bytes == 0) return {};
    auto const size = [](std::uint64_t bytes) { return base::format_bytes(static_cast<double>(bytes)); };
    bool const has_clusters = run_.head.layouts[need_.table].cluster_bytes > 0;
    base::Message const message{
        fmt::format("the producers of a process took {} for their pages, more than the {} that they should",
                    size(need_.bytes), size(run_.options.staging.memory_bytes)),
        fmt::format("{} producers cannot do with less, the last one in table '{}'; memory_bytes sets what they should "
                    "take, and a disk or /dev/shm with little room lowers it",
                    need_.producers, run_.head.schema.tables[need_.table].name),
        fmt::format("no row is lost; use fewer producers a process, a disk with more room, or a higher memory_bytes{}",
                    has_clusters ? "" : ", or create the file with a lower table_page_bytes")};
    return message.str();
}

bool ProducerList::is_finished(ProducerIntake const& producer) const {
    return run_.ledger->slot(producer.slot()).state == SlotState::finished;
}

bool ProducerList::is_dead(ProducerIntake const& producer) { return is_orphaned(producer.slot()); }

bool ProducerList::is_orphaned(std::size_t slot) {
    try {
        bool const orphaned = run_.ledger->is_orphaned(slot);
        base::Lock const lock(mutex_);
        unanswered_.erase(slot);
        return orphaned;
    } catch (base::SystemError const& error) {
        base::Lock const lock(mutex_);
        unanswered_[slot] = error.what();
        throw;
    }
}

bool ProducerList::is_known_orphan(std::size_t slot) try {
    return is_orphaned(slot);
} catch (base::SystemError const&) {
    return false; // it is asked about again
}

std::string ProducerList::unanswered() const {
    base::Lock const lock(mutex_);
    return unanswered_.empty() ? "" : unanswered_.begin()->second;
}

void ProducerList::settle(ProducerIntake& producer, JournalWriter& journal, bool died) {
    base::Lock const lock(mutex_); // add_to() finds it in one of the lists
    if (producer.settled()) return;
    settled_bytes_ += bytes_in_no_page(producer.staging());
    producer.settle(journal, died);
    auto& ended = ended_[producer.table()];
    ++ended.producers;
    if (auto const reason = producer.staging().abandoned()) {
        ++ended.abandoned;
        if (abandoned_.size() < kMostAbandoned)
            abandoned_.push_back({producer.number(), producer.table(), producer.staging().rows_counted(), *reason});
    } else if (died) {
        ++ended.died;
    }
    auto status = status_of(producer);
    status.state = SlotState::settled;
    ended.rows += status.rows;
    for (std::size_t i = 0; i < status.counts.size(); ++i) ended.counts[i] += status.counts[i];
    for (auto const& [name, value] : status.named) ended.named[name] += value;
    settled_.push_back({std::move(status), producer.covered_items()});
}

void ProducerList::drop_settled() {
    base::Lock const lock(mutex_);
    auto const is_settled = [](auto const& producer) { return producer->settled(); };
    if (std::ranges::none_of(producers_, is_settled)) return;
    board_.begin_change(); // nothing in between waits, or may fail
    for (auto const& producer : producers_) {
        if (!producer->settled()) continue;
        board_.set_sums(producer->table(), ended_[producer->table()]);
        free_slot(producer->slot());
    }
    board_.end_change();
    std::erase_if(producers_, is_settled);
}

void ProducerList::free_slot(std::size_t index) {
    THALWEG_ASSERT(met_[index], "a producer that goes was met");
    met_[index] = false;
    unanswered_.erase(index);
    auto& slot = run_.ledger->slot(index);
    for (auto const state : {SlotState::active, SlotState::finished}) slot.change(state, SlotState::settled);
    run_.ledger->free_slot(index);
}

Durability::Items ProducerList::published(bool with_units) const {
    Durability::Items items;
    base::Lock const lock(mutex_);
    for (auto const& producer : producers_) {
        if (producer->is_of_units() && !with_units) continue;
        auto& columns = items[producer->number()];
        for (std::size_t i = 0; i < producer->staging().columns(); ++i)
            columns.push_back(producer->staging().items_counted(i));
    }
    return items;
}

Durability::Items ProducerList::covered() const {
    Durability::Items items;
    base::Lock const lock(mutex_);
    for (auto const& producer : producers_) items[producer->number()] = producer->covered_items();
    for (auto const& settled : settled_) items[settled.status.number] = settled.items;
    return items;
}

void ProducerList::set_durable(Durability::Items items) {
    base::Lock const lock(mutex_);
    durable_ = std::move(items);
    std::erase_if(settled_, [&](Settled const& each) THALWEG_REQUIRES(mutex_) {
        auto const found = durable_.find(each.status.number);
        return found != durable_.end() && found->second == each.items; // not what it had when it was still at work
    });
}

std::uint64_t ProducerList::unwritten_bytes() const {
    auto bytes = settled_bytes_;
    base::Lock const lock(mutex_);
    for (auto const& producer : producers_) bytes += producer->staging().head().allocated_bytes;
    return bytes;
}

ProducerStatus ProducerList::status_of(ProducerIntake const& producer) const {
    auto const& slot = run_.ledger->slot(producer.slot());
    ProducerStatus status{.number = producer.number(), .table = producer.table(), .process = slot.producer};
    status.state = slot.state;
    read_counts(producer.staging(), status);
    if (auto const found = durable_.find(producer.number()); found != durable_.end())
        status.durable_items = found->second;
    return status;
}

std::uint64_t ProducerList::rows_appended() const {
    base::Lock const lock(mutex_);
    std::uint64_t rows = 0;
    for (auto const& ended : ended_) rows += ended.rows;
    for (auto const& producer : producers_) {
        if (!producer->settled()) rows += producer->staging().rows_counted();
    }
    return rows;
}

void ProducerList::add_to(CommitStatus& status) const {
    auto const& ledger = *run_.ledger;
    base::Lock const lock(mutex_);
    status.ended = ended_;
    status.abandoned = abandoned_;
    status.memory_need = need_in_words();
    std::vector<bool> known(ledger.slots_used());
    for (auto const& producer : producers_) {
        if (producer->settled()) continue;
        status.producers.push_back(status_of(*producer));
        if (producer->slot() < known.size()) known[producer->slot()] = true;
    }
    for (auto const& settled : settled_) {
        status.settled.push_back(settled.status);
        if (auto const found = durable_.find(settled.status.number); found != durable_.end())
            status.settled.back().durable_items = found->second;
    }
    for (std::size_t i = 0; i < known.size(); ++i) { // not met by the committer yet
        auto const& slot = ledger.slot(i);
        if (known[i] || slot.taker == 0 || slot.state == SlotState::settled) continue;
        status.producers.push_back({.table = slot.table, .process = {slot.taker, 0, 0}, .state = SlotState::attaching});
    }
}

} // namespace thalweg::dataset
