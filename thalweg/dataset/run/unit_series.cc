#include "thalweg/dataset/run/unit_series.h"

#include <algorithm>

#include "thalweg/dataset/run/ledger.h"
#include "thalweg/dataset/run/run_memory.h"
#include "thalweg/dataset/run/unit_table.h"

namespace thalweg::dataset {

void UnitSeries::join(Ledger& ledger) {
    base::Lock const lock(mutex_);
    if (table_) {
        table_->add_name(ledger.units_name());
        ledger.set_units(table_);
    }
    members_.push_back(&ledger);
}

void UnitSeries::make_table(Ledger& ledger) {
    base::Lock const lock(mutex_);
    if (table_) return;
    auto const table = UnitTable::create(ledger.units_name(), memory_fallback_of(ledger.head()));
    for (auto* const member : members_) {
        if (member != &ledger) table->add_name(member->units_name());
    }
    table_ = table;
    for (auto* const member : members_) member->set_units(table_);
}

void UnitSeries::leave(Ledger& ledger) {
    base::Lock const lock(mutex_);
    if (std::erase(members_, &ledger) > 0 && table_) table_->drop_name(ledger.units_name());
}

} // namespace thalweg::dataset
