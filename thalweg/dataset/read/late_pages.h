// Pages of columns that were left for later when their file was opened (docs/decisions/0049).
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "thalweg/base/thread.h"
#include "thalweg/format/format.h"
#include "thalweg/model/run.h"

namespace thalweg::dataset {

struct ItemRange {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};

// A first small piece of a column costs the look-up of its own pages. A request for more, or for several pieces, gets
// all pages of the table, and then of more and more tables at once, because every look-up is a process. Thread-safe.
class LatePages {
  public:
    using Map = model::TableMap::ColumnMap;

    // All three must outlive this.
    LatePages(storage::Storage const& file, format::Format const& format, model::RunMap const& map);

    // With all pages. Throws base::DataError naming file, table and column if they cannot be found.
    Map const& all(std::size_t table, std::size_t column);
    // With those at least that hold these items.
    std::shared_ptr<Map const> some(std::size_t table, std::size_t column, ItemRange items);

  private:
    struct Column {
        std::atomic<Map const*> all = nullptr; // set once
        Map map;
        std::shared_ptr<Map const> piece;
        ItemRange piece_items;
        unsigned pieces = 0;
        bool alone = false; // it cannot be looked up with others: they would pay for what is wrong with it
    };
    using Key = std::pair<std::size_t, std::size_t>; // table and column

    bool is_small(Key key, ItemRange items) const THALWEG_REQUIRES(mutex_);
    std::vector<format::WantedPages> with_neighbours(Key key) THALWEG_REQUIRES(mutex_);
    void look_up(Key key) THALWEG_REQUIRES(mutex_);
    Map look_up_alone(format::WantedPages const& wanted) const;
    [[noreturn]] void fail(Key key, std::string const& why) const;

    storage::Storage const& file_;
    format::Format const& format_;
    model::RunMap const& map_;
    base::Mutex mutex_; // guards all but `all`
    std::map<Key, Column> columns_;
    std::size_t tables_at_once_ = 1;
};

} // namespace thalweg::dataset
