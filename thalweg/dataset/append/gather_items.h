// The members of structs, gathered into a buffer for each column. What StructProducer is made of.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thalweg/dataset/append/producer.h"
#include "thalweg/dataset/append/struct_type.h"

namespace thalweg::dataset {

// Which column of the producer's table each column of a struct is. Throws base::UsageError where the two do not agree.
std::vector<std::size_t> column_places(model::Table const& table_of_struct, Producer const& producer);

// Bytes that are written behind each other, into room that was made before.
class ItemBuffer {
  public:
    void begin(std::size_t size_bytes) {
        if (size_bytes > capacity_) {
            bytes_ = std::make_unique_for_overwrite<std::byte[]>(size_bytes + size_bytes / 2);
            capacity_ = size_bytes + size_bytes / 2;
        }
        size_ = 0;
    }
    void put(void const* bytes, std::size_t size_bytes) {
        if (size_bytes == 0) return; // of an empty vector, whose `data` may be null
        std::memcpy(bytes_.get() + size_, bytes, size_bytes);
        size_ += size_bytes;
    }
    template <class T> void put(T const& value) {
        std::memcpy(bytes_.get() + size_, &value, sizeof value);
        size_ += sizeof value;
    }
    std::span<std::byte const> bytes() const { return {bytes_.get(), size_}; }

  private:
    std::unique_ptr<std::byte[]> bytes_;
    std::size_t size_ = 0, capacity_ = 0;
};

// `for_each(take)` calls `take` with each value: of all rows, or of all elements of all lists. `count`: how often.
class ItemGatherer {
  public:
    ItemGatherer(std::vector<ItemBuffer>& buffers, std::vector<std::size_t> const& columns)
        : buffers_(buffers), columns_(columns) {}

    template <class Type, class ForEach>
    void gather_struct(Type const& type, std::size_t count, ForEach const& for_each) {
        std::apply([&](auto const&... member) { (gather_member(member, count, for_each), ...); }, type.members());
    }

  private:
    ItemBuffer& next() { return buffers_[columns_[column_++]]; }

    template <class Each, class ForEach>
    void gather_member(Each const& member, std::size_t count, ForEach const& for_each) {
        auto const pointer = member.pointer;
        gather<typename Each::Value>(member.inner, count, [&](auto const& take) {
            for_each([&](auto const& object) { take(object.*pointer); });
        });
    }

    template <class Value, class Inner, class ForEach>
    void gather(Inner const& inner, std::size_t count, ForEach const& for_each) {
        if constexpr (std::is_same_v<Value, std::string>) {
            auto const total = gather_lengths(count, for_each);
            auto& buffer = next();
            buffer.begin(total);
            for_each([&](std::string const& text) { buffer.put(text.data(), text.size()); });
        } else if constexpr (detail::ElementOf<Value>::kIsList) {
            gather_lists<typename detail::ElementOf<Value>::Type>(inner, count, for_each);
        } else if constexpr (!std::is_same_v<Inner, NoStruct>) {
            gather_struct(inner, count, for_each);
        } else {
            auto& buffer = next();
            buffer.begin(count * sizeof(Value));
            for_each([&](Value const& value) { buffer.put(value); });
        }
    }

    template <class Element, class Inner, class ForEach>
    void gather_lists(Inner const& inner, std::size_t count, ForEach const& for_each) {
        auto const total = gather_lengths(count, for_each);
        constexpr bool kIsPlain = detail::is_number<typename detail::ArrayOf<Element>::Item>();
        if constexpr (kIsPlain) {
            auto& buffer = next();
            buffer.begin(total * sizeof(Element));
            for_each([&](auto const& list) { buffer.put(list.data(), list.size() * sizeof(Element)); });
        } else {
            gather<Element>(inner, total, [&](auto const& take) {
                for_each([&](auto const& list) {
                    for (auto const& element : list) take(element);
                });
            });
        }
    }

    // The sum of all lengths.
    template <class ForEach> std::size_t gather_lengths(std::size_t count, ForEach const& for_each) {
        auto& buffer = next();
        buffer.begin(count * sizeof(std::uint64_t));
        std::size_t total = 0;
        for_each([&](auto const& list) {
            buffer.put(std::uint64_t{list.size()});
            total += list.size();
        });
        return total;
    }

    std::vector<ItemBuffer>& buffers_;
    std::vector<std::size_t> const& columns_;
    std::size_t column_ = 0; // of the struct: the next one
};

} // namespace thalweg::dataset
