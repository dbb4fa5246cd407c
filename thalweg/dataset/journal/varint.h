// Integers of any size in as few bytes as they need: 7 bits a byte, the lowest first. Differences are zigzagged, so
// that small ones are short whatever their sign.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace thalweg::dataset {

class VarintWriter {
  public:
    explicit VarintWriter(std::vector<std::byte>& out) : out_(out) {}

    void value(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<std::byte>(value | 0x80));
        out_.push_back(static_cast<std::byte>(value));
    }
    void difference(std::uint64_t value, std::uint64_t before) {
        auto const signed_value = static_cast<std::int64_t>(value - before);
        this->value((static_cast<std::uint64_t>(signed_value) << 1) ^ static_cast<std::uint64_t>(signed_value >> 63));
    }
    template <class Plain> void plain(Plain const& plain) {
        auto const bytes = std::as_bytes(std::span(&plain, 1));
        out_.insert(out_.end(), bytes.begin(), bytes.end());
    }

  private:
    std::vector<std::byte>& out_;
};

// Bytes that end too early, or mean no 64-bit integer, make it bad, and everything read from then on 0.
class VarintReader {
  public:
    explicit VarintReader(std::span<std::byte const> bytes) : bytes_(bytes) {}

    bool is_bad() const { return is_bad_; }
    bool is_at_end() const { return bytes_.empty(); }

    std::uint64_t value() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            if (bytes_.empty()) break;
            auto const byte = std::to_integer<std::uint64_t>(bytes_.front());
            bytes_ = bytes_.subspan(1);
            if (shift == 63 && byte > 1) break;
            value |= (byte & 0x7f) << shift;
            if (byte < 0x80) return value;
        }
        return fail();
    }
    std::uint64_t difference(std::uint64_t before) {
        auto const coded = value();
        return is_bad_ ? 0 : before + ((coded >> 1) ^ (0 - (coded & 1)));
    }
    template <class Plain> Plain plain() {
        Plain plain{};
        if (bytes_.size() < sizeof plain) {
            fail();
            return plain;
        }
        std::memcpy(&plain, bytes_.data(), sizeof plain);
        bytes_ = bytes_.subspan(sizeof plain);
        return plain;
    }

  private:
    std::uint64_t fail() {
        is_bad_ = true;
        bytes_ = {};
        return 0;
    }

    std::span<std::byte const> bytes_;
    bool is_bad_ = false;
};

} // namespace thalweg::dataset
