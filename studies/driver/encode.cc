#include <charconv>
#include <memory>
#include <thread>
#include <zstd.h>

#include "studies/driver/clocks.h"
#include "studies/driver/material.h"
#include "studies/driver/measurements.h"
#include "thalweg/base/error.h"
#include "thalweg/codec/codec.h"

namespace thalweg::study {
namespace {

std::vector<ColumnPages> pages_from(Arguments& arguments) {
    auto const data = arguments.text("data", "pulses");
    if (data == "pulses") return pulse_pages(arguments.text("codec", "bitshuffle+lz4"));
    if (data == "events") return event_pages(arguments.text("codec", "zstd-1"));
    base::fail_usage({"--data " + data + " means nothing", "", "take pulses or events"});
}

// The alternative to a codec of one's own: the page is split, and zstd compresses it as a whole.
class StockCodec final : public codec::Codec {
  public:
    StockCodec(std::string const& name, std::size_t element_bytes)
        : split_(codec::make_codec(name.substr(0, name.find('+')), element_bytes)),
          zstd_(ZSTD_createCCtx(), &ZSTD_freeCCtx) {
        auto const dash = name.rfind('-');
        std::from_chars(name.data() + dash + 1, name.data() + name.size(), level_);
    }

    std::size_t bound_bytes(std::size_t raw_bytes) const override { return ZSTD_compressBound(raw_bytes); }
    std::size_t encode(std::span<std::byte const> raw, std::span<std::byte> out) override {
        packed_.resize(split_->bound_bytes(raw.size()));
        auto const packed_bytes = split_->encode(raw, packed_);
        return ZSTD_compressCCtx(zstd_.get(), out.data(), out.size(), packed_.data(), packed_bytes, level_);
    }
    void decode(std::span<std::byte const>, std::span<std::byte>) override {}

  private:
    std::unique_ptr<codec::Codec> split_;
    std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> zstd_;
    std::vector<std::byte> packed_;
    int level_ = 1;
};

struct Encoded {
    std::uint64_t raw_bytes = 0;
    std::uint64_t stored_bytes = 0;
};

// Encodes all pages of all columns, again and again.
Encoded encode(std::vector<ColumnPages> const& columns, std::uint64_t bytes, bool stock) {
    std::vector<std::unique_ptr<codec::Codec>> codecs;
    std::vector<std::byte> out;
    for (auto const& column : columns) {
        codecs.push_back(stock ? std::make_unique<StockCodec>(column.codec, column.element_bytes)
                               : codec::make_codec(column.codec, column.element_bytes));
        out.resize(std::max(out.size(), codecs.back()->bound_bytes(column.page_bytes)));
    }
    Encoded encoded;
    while (encoded.raw_bytes < bytes) {
        for (std::size_t i = 0; i < columns.size(); ++i) {
            for (std::span<std::byte const> rest = columns[i].bytes; !rest.empty() && encoded.raw_bytes < bytes;) {
                auto const page = rest.first(std::min(columns[i].page_bytes, rest.size()));
                rest = rest.subspan(page.size());
                encoded.stored_bytes += codecs[i]->encode(page, out);
                encoded.raw_bytes += page.size();
            }
        }
    }
    return encoded;
}

} // namespace

// Encodes pages from memory into one buffer in the cache: the upper limit of a codec.
Json measure_encode(Arguments& arguments) {
    auto const threads = arguments.number("threads", 2);
    auto const bytes = arguments.number("bytes", 2'000'000'000);
    auto const pages = pages_from(arguments);
    bool const stock = arguments.number("stock", 0) != 0;
    std::vector<Encoded> encoded(threads);
    auto const begin_cpu_s = process_cpu_s();
    auto const begin_ns = base::monotonic_ns();
    {
        std::vector<std::jthread> workers;
        for (auto& each : encoded) workers.emplace_back([&] { each = encode(pages, bytes / threads, stock); });
    }
    auto const seconds = seconds_since(begin_ns);
    auto const cpu_s = process_cpu_s() - begin_cpu_s;
    Encoded all;
    for (auto const& each : encoded) {
        all.raw_bytes += each.raw_bytes;
        all.stored_bytes += each.stored_bytes;
    }
    auto const gigabytes = static_cast<double>(all.raw_bytes) * 1e-9;
    return {{"seconds", seconds},
            {"raw_bytes", all.raw_bytes},
            {"GB_per_s", gigabytes / seconds},
            {"cpu_s_per_GB", cpu_s / gigabytes},
            {"stored_per_raw", static_cast<double>(all.stored_bytes) / static_cast<double>(all.raw_bytes)}};
}

} // namespace thalweg::study
