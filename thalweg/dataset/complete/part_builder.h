// Builds the part of a table that one producer left: the pages that it wrote, the rows that wait in the journal, and
// which of its rows the table may keep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/dataset/complete/journal_facts.h"
#include "thalweg/storage/storage.h"

namespace thalweg::dataset {

class PartBuilder {
  public:
    // Takes the pages from `facts`. All that is given must outlive this object.
    PartBuilder(model::RunHead const& head, std::uint32_t number, ProducerFacts& facts, storage::Storage const& file,
                storage::Storage const& journal);

    // Keeps rows that are whole and, of work units, `counted`. May be called again with fewer of them.
    void keep(Ranges const& counted);
    // Keeps all rows that were published and are whole, and whole ones that follow them without a gap.
    void keep_all();
    // Keeps only the rows in front of the first gap: what is missing may still come, since writes end in any order.
    void keep_beginning();
    // Orders the clusters by the rank that their group of units has by its key.
    void order_clusters(std::uint64_t rank);
    bool has(std::uint64_t first_row, std::uint64_t rows) const { return contains(part_.rows, first_row, rows); }

    ProducerFacts const& facts() const { return facts_; }
    model::Part const& part() const { return part_; }
    model::Part take_part() { return std::move(part_); }
    // Returns true if rows are whole and the blocks in which they would stand cannot hold them.
    bool has_cut() const { return has_cut_; }
    // Returns sentences that say what was left out, and why.
    std::vector<std::string> const& notes() const { return notes_; }

  private:
    Ranges whole_rows(model::Part const& some, std::vector<std::uint64_t> const& starts);
    Ranges uncut_rows();
    Ranges blocks_of(Ranges const& valid);
    bool has_gap() const;
    void keep_up_to_gap(std::uint64_t published);
    std::uint64_t durable_rows();
    void number_clusters();

    model::RunHead const& head_;
    ProducerFacts& facts_;
    storage::Storage const& file_;
    storage::Storage const& journal_;
    std::vector<model::Column> const& columns_;
    model::TableLayout const& layout_;
    std::string const& table_;
    model::Part part_;
    bool has_cut_ = false;
    std::vector<std::string> notes_;
};

} // namespace thalweg::dataset
