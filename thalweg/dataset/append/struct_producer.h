// Takes rows as C++ structs, beside Producer, which takes them as columns.
#pragma once

#include <algorithm>
#include <span>
#include <utility>

#include "thalweg/dataset/append/gather_items.h"
#include "thalweg/dataset/append/producer.h"
#include "thalweg/dataset/append/struct_type.h"

namespace thalweg::dataset {

// For a producer that another object owns, such as that of a work unit.
template <class Type> class StructRows {
  public:
    using Struct = typename Type::Struct;

    // Throws base::UsageError naming the column where the table is not that of the struct. Fields may have another
    // order. `producer` outlives this.
    StructRows(Producer& producer, Type type)
        : producer_(&producer), type_(std::move(type)), buffers_(producer.columns().size()),
          columns_(column_places(type_.table(producer.table().name), producer)) {}

    // As Producer::append. Rows are copied into columns some thousand bytes at a time, and from there once more.
    void append(std::span<Struct const> rows) { append(*producer_, rows); }
    void append(Struct const& row) { append(std::span(&row, 1)); }

  private:
    template <class> friend class StructProducer;

    void append(Producer& producer, std::span<Struct const> rows) {
        while (!rows.empty()) {
            auto const some = rows.first(std::min<std::size_t>(rows.size(), kRowsAtOnce));
            ItemGatherer gatherer(buffers_, columns_);
            gatherer.gather_struct(type_, some.size(), [&](auto const& take) {
                for (auto const& row : some) take(row);
            });
            spans_.clear();
            for (auto const& buffer : buffers_) spans_.push_back(buffer.bytes());
            producer.append(some.size(), spans_);
            rows = rows.subspan(some.size());
        }
    }

    static constexpr std::size_t kRowsAtOnce = std::clamp<std::size_t>(32'768 / sizeof(Struct), 16, 1024);

    Producer* producer_;
    Type type_;
    std::vector<ItemBuffer> buffers_;  // by column of the table
    std::vector<std::size_t> columns_; // of the table, by column of the struct
    std::vector<std::span<std::byte const>> spans_;
};

// With a producer of its own.
template <class Type> class StructProducer {
  public:
    using Struct = typename Type::Struct;

    StructProducer(Producer producer, Type type) : producer_(std::move(producer)), rows_(producer_, std::move(type)) {}

    void append(std::span<Struct const> rows) { rows_.append(producer_, rows); }
    void append(Struct const& row) { append(std::span(&row, 1)); }

    void finish() { producer_.finish(); }
    Producer& producer() { return producer_; }

  private:
    Producer producer_;
    StructRows<Type> rows_; // which is told the producer each time, since both may be moved
};

} // namespace thalweg::dataset
