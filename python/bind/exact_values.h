#pragma once

#include <cstdint>
#include <cstring>
#include <nanobind/nanobind.h>
#include <span>
#include <vector>

#include "buffer.h"

namespace thalweg::bind {

// The columns of rows that are appended without conversions, for one call.
class ExactValues {
  public:
    // The values of this thread while the object exists. It is empty if they are in use: a handler of a signal may
    // append while an append waits.
    class Use {
      public:
        Use();
        ~Use();
        Use(Use const&) = delete;
        Use& operator=(Use const&) = delete;
        ExactValues* get() const { return values_; }

      private:
        ExactValues* values_;
    };

    // Before anything is added: there will be no more columns than these.
    void expect(std::size_t columns);

    std::uint64_t rows() const { return rows_ == kOneRow ? 1 : rows_; }
    std::span<std::span<std::byte const> const> columns() const { return columns_; }

    // Whether some value has said how many rows there are.
    bool is_counted() const { return has_rows_; }
    // Returns whether all values so far have the same number of rows.
    bool has_rows(std::uint64_t rows);
    bool has_one_row() { return has_rows(kOneRow); }

    // A number of one row, or a length.
    template <class T> bool add_number(T number) {
        if (!has_one_row()) return false;
        auto& place = numbers_.emplace_back(0);
        std::memcpy(&place, &number, sizeof number);
        columns_.push_back(std::as_bytes(std::span(&place, 1)).first(sizeof number));
        return true;
    }
    void add_bytes(std::span<std::byte const> bytes) { columns_.push_back(bytes); }
    void add_empty(std::size_t columns) { columns_.insert(columns_.end(), columns, std::span<std::byte const>()); }
    // A string whose bytes are added stays until the call is over, whatever other threads do with the dictionary.
    void hold(nanobind::handle value) { held_.push_back(nanobind::borrow(value)); }
    Buffer& add_buffer(nanobind::handle value, int flags) { return buffers_.emplace_back(value, flags); }

    // Columns that grow item by item: those of the elements of a list. They are added when they are whole.
    std::size_t begin_growing(std::size_t columns);
    std::vector<std::byte>& growing(std::size_t index) { return growing_[index]; }
    void add_grown(std::size_t first, std::size_t columns);

  private:
    // One row without a leading axis, which does not go together with an array of one row.
    static constexpr std::uint64_t kOneRow = ~std::uint64_t{0};

    void clear(); // with the GIL

    std::vector<std::uint64_t> numbers_; // spans point into it, so it never grows beyond its capacity
    std::vector<Buffer> buffers_;
    std::vector<nanobind::object> held_;
    std::vector<std::vector<std::byte>> growing_;
    std::size_t growing_used_ = 0;
    std::vector<std::span<std::byte const>> columns_;
    std::uint64_t rows_ = 0;
    bool has_rows_ = false;
    bool is_used_ = false;
};

} // namespace thalweg::bind
