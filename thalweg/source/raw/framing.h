// Finds rows in the bytes of a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/base/shared_number.h"
#include "thalweg/source/raw/row.h"

namespace thalweg::source::raw {

// A row within some bytes.
struct Frame {
    std::size_t offset = 0;
    std::size_t items = 0; // of its list; 0 if it has none
};

// What lies at the beginning of some bytes: rows, or bytes that belong to none, or neither if more bytes are needed.
struct Found {
    std::size_t rows = 0;
    std::span<Frame const> frames; // of rows without a fixed size; others lie one behind the other
    std::size_t bytes = 0;         // so many have been looked at; what follows is for the next call
};

// A row is handed out if the sync word of the next one follows it. If its end is all that has come, it is handed out
// unless its own bytes could hold the beginning of the next row: a row that was cut is never completed with bytes of
// the next one. A row with a length is left out if it leads to no sync word, or over a whole row that another sync word
// follows. Rows without a sync word are taken as they come.
class Framer {
  public:
    explicit Framer(Row const& row);

    // Returns at most `max_rows` rows. `is_end`: no bytes follow these. What is left then belongs to a row that was
    // cut. Throws base::DataError if the length of a row cannot be true and there is no sync word by which to go on.
    Found find(std::span<std::byte const> bytes, bool is_end, std::size_t max_rows);
    // Begins anew, as behind a connection that has broken.
    void reset() { is_lost_ = false; }

    // Any thread may ask for these.
    std::uint64_t cut_rows() const { return cut_rows_.get(); } // with a beginning, but without an end
    std::uint64_t bad_lengths() const { return bad_lengths_.get(); }
    std::uint64_t garbage_bytes() const { return garbage_bytes_.get(); } // between rows
    void count_cut_row() { cut_rows_.add(1); }
    bool has_lengths() const { return shape_.list.has_value(); }

    // Returns where the row that begins at `offset` would end, or `kUnknown` if too few bytes say so, or `kLie` if its
    // length cannot be true.
    static constexpr std::size_t kUnknown = SIZE_MAX, kLie = SIZE_MAX - 1;
    std::size_t end_of(std::span<std::byte const> bytes, std::size_t offset, std::size_t& items) const;
    bool has_sync(std::span<std::byte const> bytes, std::size_t offset) const;

  private:
    enum class Next : std::uint8_t { follows, does_not, unknown }; // whether a sync word is where it must be

    Next sync_at(std::span<std::byte const> bytes, std::size_t offset, bool is_end) const;
    std::size_t find_sync(std::span<std::byte const> bytes, std::size_t from) const;
    bool may_hold_a_beginning(std::span<std::byte const> bytes, std::size_t from, std::size_t end) const;
    Found skip_garbage(std::span<std::byte const> bytes, bool is_end);
    std::size_t row_within(std::span<std::byte const> bytes, std::size_t from, std::size_t end, bool is_end) const;
    Found cut(std::size_t begin, std::size_t end);
    Found leave_row();
    [[noreturn]] void fail_length(std::span<std::byte const> bytes, std::size_t offset) const;

    Row row_;
    RowShape shape_;
    std::vector<std::byte> sync_;
    bool is_lost_ = false; // between rows: the next sync word counts only if another one follows its row
    std::vector<Frame> frames_;
    base::SharedNumber cut_rows_, bad_lengths_, garbage_bytes_;
};

} // namespace thalweg::source::raw
