// The files of one run that continue each other, as the process knows them that creates them: they share one table of
// keys, so that a key counts once in all of them. It is made when the first of them wants it; each file has a name of
// its own for its memory, so that no order is needed in which they are closed, recovered or cleared away.
#pragma once

#include <memory>
#include <vector>

#include "thalweg/base/thread.h"

namespace thalweg::dataset {

class Ledger;
class UnitTable;

class UnitSeries {
  public:
    // The file has the table from then on, where there is one. Throws base::SystemError where that is not possible.
    void join(Ledger& ledger);
    // A member wants the table.
    void make_table(Ledger& ledger);
    // Nothing is made for that file any more, and what is there under its name may be removed.
    void leave(Ledger& ledger);

  private:
    base::Mutex mutex_;
    std::vector<Ledger*> members_ THALWEG_GUARDED_BY(mutex_);
    std::shared_ptr<UnitTable> table_ THALWEG_GUARDED_BY(mutex_);
};

} // namespace thalweg::dataset
