// Takes rows as C++ structs, beside Producer, which takes them as columns.
#pragma once

#include <algorithm>
#include <span>
#include <utility>

#include "thalweg/dataset/append/gather_items.h"
#include "thalweg/dataset/append/producer.h"
#include "thalweg/dataset/append/struct_type.h"

namespace thalweg::dataset {

template <class Type> class StructProducer {
  public:
    using Struct = typename Type::Struct;

    // Throws base::UsageError naming the column where the table is not that of the struct. Fields may have another
    // order.
    StructProducer(Producer producer, Type type)
        : producer_(std::move(producer)), type_(std::move(type)), buffers_(producer_.columns().size()),
          columns_(column_places(type_.table(producer_.table().name), producer_)) {}

    // As Producer::append. Rows are copied into columns some thousand bytes at a time, and from there once more.
    void append(std::span<Struct const> rows) {
        while (!rows.empty()) {
            auto const some = rows.first(std::min<std::size_t>(rows.size(), kRowsAtOnce));
            ItemGatherer gatherer(buffers_, columns_);
            gatherer.gather_struct(type_, some.size(), [&](auto const& take) {
                for (auto const& row : some) take(row);
            });
            spans_.clear();
            for (auto const& buffer : buffers_) spans_.push_back(buffer.bytes());
            producer_.append(some.size(), spans_);
            rows = rows.subspan(some.size());
        }
    }
    void append(Struct const& row) { append(std::span(&row, 1)); }

    void finish() { producer_.finish(); }
    Producer& producer() { return producer_; }

  private:
    static constexpr std::size_t kRowsAtOnce = std::clamp<std::size_t>(32'768 / sizeof(Struct), 16, 1024);

    Producer producer_;
    Type type_;
    std::vector<ItemBuffer> buffers_;  // by column of the table
    std::vector<std::size_t> columns_; // of the table, by column of the struct
    std::vector<std::span<std::byte const>> spans_;
};

} // namespace thalweg::dataset
