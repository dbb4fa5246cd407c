// Follows a run while it is written: gives out every row of the finished file once, whatever numbers rows have
// meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "thalweg/dataset/journal/coverage.h"
#include "thalweg/dataset/read/reader.h"

namespace thalweg::dataset {

// Rows that were not given out before. They follow each other in the table, as the reader has it, and at their
// producer.
struct NewRows {
    std::size_t table = 0;
    std::optional<RowSource> source; // none: the run was over when it was looked at first
    std::uint64_t first_row = 0;     // in the table
    std::uint64_t rows = 0;
};

class Follower {
  public:
    explicit Follower(std::string path) : path_(std::move(path)) {}

    // Looks at the run anew. Returns what it has gained, table by table, the rows of a producer in its order. Rows of
    // work units come when they count. Throws as Reader::open does; base::DataError, too, if another run has taken its
    // place or, after all else was given out, if rows that were given out are not in the finished file;
    // base::UsageError if another program writes the file.
    std::vector<NewRows> look();

    // Returns the reader of the last look, which has these rows. Those that earlier looks gave out may be missing in
    // it.
    std::shared_ptr<Reader const> const& reader() const { return reader_; }
    // Returns true if the run is closed and all its rows were given out.
    bool is_over() const { return reader_ && !reader_->is_open_run() && lost_.empty(); }

  private:
    using Key = std::tuple<std::size_t, std::uint32_t, std::uint32_t>; // table, node, producer

    std::shared_ptr<Reader const> next_reader();
    void check_same(Reader const& now) const;
    RowOrder order_of_closed(Reader const& now);
    void add_new(std::size_t table, TableOrder const& order, std::vector<NewRows>& found);
    std::uint64_t told_rows(std::size_t table) const;

    std::string path_;
    std::unique_ptr<GrowingFacts> facts_; // of a run that is open
    std::shared_ptr<Reader const> reader_;
    std::map<Key, Ranges> told_;
    std::string lost_; // to be said at the next look
};

} // namespace thalweg::dataset
