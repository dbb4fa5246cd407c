#include "thalweg/codec/hdf5_filters.h"

#include "thalweg/base/error.h"
#include "thalweg/codec/compressor.h"
#include "thalweg/codec/hdf5_pipeline.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <span>

namespace thalweg::codec {
namespace {

// They are used without the name of the enum, as constants are.
// NOLINTBEGIN(readability-identifier-naming)
enum FilterId : unsigned {
    kDeflate = 1,
    kShuffle = 2,
    kFletcher32 = 3,
    kLz4 = 32004,
    kBitshuffle = 32008,
    kZstd = 32015
};
// NOLINTEND(readability-identifier-naming)

// The cd_values of bitshuffle: version, element size, elements in a block (0: the default; a compressed page tells its
// own), compression inside, level.
constexpr unsigned kBitshuffleMajor = 0, kBitshuffleMinor = 4, kInsideNothing = 0, kInsideLz4 = 2, kInsideZstd = 3;

std::string registered_name(FilterId id) {
    std::string const plugins = "https://github.com/HDFGroup/hdf5_plugins/blob/master/docs/RegisteredFilterPlugins.md";
    switch (id) {
    case kDeflate:
        return "deflate";
    case kShuffle:
        return "shuffle";
    case kLz4:
        return "HDF5 lz4 filter; see " + plugins;
    case kZstd:
        return "HDF5 zstd filter; see " + plugins;
    case kBitshuffle:
        return "bitshuffle; see https://github.com/kiyo-masui/bitshuffle";
    case kFletcher32:
        return "fletcher32";
    }
    return "";
}

Hdf5Filter filter(FilterId id, std::vector<unsigned> cd_values) {
    return {id, registered_name(id), std::move(cd_values)};
}

unsigned level_of(Spec const& spec) {
    return static_cast<unsigned>(spec.level != 0 ? spec.level : default_level(spec.compression));
}

Hdf5Filter bitshuffle_filter(Spec const& spec, unsigned element_bytes) {
    std::vector<unsigned> values = {kBitshuffleMajor, kBitshuffleMinor, element_bytes, 0, kInsideNothing};
    switch (spec.compression) {
    case Compression::none:
    case Compression::deflate: // a filter of its own, behind this one
        break;
    case Compression::lz4:
        values.back() = kInsideLz4;
        break;
    case Compression::zstd:
        values.back() = kInsideZstd;
        values.push_back(level_of(spec));
        break;
    }
    return filter(kBitshuffle, std::move(values));
}

[[noreturn]] void fail_filters(std::vector<Hdf5Filter> const& filters, std::string const& why) {
    std::vector<unsigned> ids;
    ids.reserve(filters.size());
    for (Hdf5Filter const& one : filters) ids.push_back(one.id);
    base::fail_data(
        {fmt::format("no codec for the HDF5 filters [{}]", fmt::join(ids, ", ")), why,
         "known are 1 (deflate), 2 (shuffle), 3 (fletcher32), 32004 (lz4), 32008 (bitshuffle) and 32015 (zstd)"});
}

// Reads filters one by one; what a filter may follow is checked as the Spec fills.
class FilterReader {
  public:
    FilterReader(std::vector<Hdf5Filter> const& filters, std::size_t element_bytes)
        : filters_(filters), element_bytes_(element_bytes) {}

    Spec read() {
        for (Hdf5Filter const& one : filters_) {
            switch (one.id) {
            case kShuffle:
                read_shuffle(one);
                break;
            case kBitshuffle:
                read_bitshuffle(one);
                break;
            case kDeflate:
                compress(Compression::deflate, value(one, 0, 1));
                break;
            case kLz4:
                compress(Compression::lz4, 0);
                break;
            case kZstd:
                compress(Compression::zstd, value(one, 0, 3));
                break;
            default:
                fail_filters(filters_, fmt::format("filter {} is not known", one.id));
            }
        }
        return spec_;
    }

  private:
    static unsigned value(Hdf5Filter const& one, std::size_t index, unsigned otherwise) {
        return index < one.cd_values.size() ? one.cd_values[index] : otherwise;
    }

    void prefilter(Prefilter which, unsigned element_bytes) {
        if (spec_ != Spec{}) fail_filters(filters_, "a shuffle comes first and once");
        if (element_bytes != element_bytes_) {
            fail_filters(filters_, fmt::format("a filter takes elements of {} bytes, the column has {}", element_bytes,
                                               element_bytes_));
        }
        spec_.prefilter = which;
    }

    void compress(Compression compression, unsigned level) {
        if (spec_.compression != Compression::none) fail_filters(filters_, "two compressions follow each other");
        if (spec_.prefilter == Prefilter::bitshuffle && is_inside_bitshuffle(compression) && !inside_) {
            fail_filters(filters_, "bitshuffle has lz4 and zstd inside, not behind it");
        }
        spec_.compression = compression;
        // Only encoding asks for the level; one that we do not offer says nothing about how to decode.
        spec_.level = level > 22 || static_cast<int>(level) == default_level(compression) ? 0 : static_cast<int>(level);
    }

    void read_shuffle(Hdf5Filter const& one) {
        prefilter(Prefilter::shuffle, value(one, 0, static_cast<unsigned>(element_bytes_)));
    }

    void read_bitshuffle(Hdf5Filter const& one) {
        if (one.cd_values.size() < 3) fail_filters(filters_, "bitshuffle's parameters are cut short");
        prefilter(Prefilter::bitshuffle, one.cd_values[2]);
        inside_ = true;
        switch (value(one, 4, kInsideNothing)) {
        case kInsideNothing:
            break;
        case kInsideLz4:
            compress(Compression::lz4, 0);
            break;
        case kInsideZstd:
            compress(Compression::zstd, value(one, 5, 3));
            break;
        default:
            fail_filters(filters_, fmt::format("bitshuffle's compression {} is not known", one.cd_values[4]));
        }
        inside_ = false;
        if (spec_.compression == Compression::none && value(one, 3, 0) != 0) {
            fail_filters(filters_, "bitshuffle without compression is known in its default block size only");
        }
    }

    std::vector<Hdf5Filter> const& filters_;
    std::size_t element_bytes_;
    Spec spec_;
    bool inside_ = false; // reading bitshuffle's own compression
};

// What shuffle and bitshuffle of a group of filters take for an element; `otherwise` where there is none.
std::size_t element_bytes_of(std::span<Hdf5Filter const> filters, std::size_t otherwise) {
    for (auto const& one : filters) {
        if (one.id == kShuffle && !one.cd_values.empty()) return one.cd_values[0];
        if (one.id == kBitshuffle && one.cd_values.size() > 2) return one.cd_values[2];
    }
    return otherwise;
}

} // namespace

std::vector<Hdf5Filter> filter_pipeline(Spec const& spec, std::size_t element_bytes) {
    auto const element = static_cast<unsigned>(element_bytes);
    std::vector<Hdf5Filter> filters;
    if (spec.prefilter == Prefilter::shuffle) filters.push_back(filter(kShuffle, {element}));
    bool const inside = spec.prefilter == Prefilter::bitshuffle;
    if (inside) filters.push_back(bitshuffle_filter(spec, element));
    switch (spec.compression) {
    case Compression::none:
        break;
    case Compression::deflate:
        filters.push_back(filter(kDeflate, {level_of(spec)}));
        break;
    case Compression::lz4:
        if (!inside) filters.push_back(filter(kLz4, {0}));
        break;
    case Compression::zstd:
        if (!inside) filters.push_back(filter(kZstd, {level_of(spec)}));
        break;
    }
    return filters;
}

Spec spec_of_filters(std::vector<Hdf5Filter> const& filters, std::size_t element_bytes) {
    return FilterReader(filters, element_bytes).read();
}

std::string codec_of_filters(std::vector<Hdf5Filter> const& filters, std::size_t element_bytes) {
    std::vector<PipelineStage> stages;
    for (auto one = filters.begin(); one != filters.end();) {
        if (one->id == kFletcher32) {
            stages.push_back({true, {}, 0});
            ++one;
            continue;
        }
        auto const end = std::find_if(one, filters.end(), [](auto const& each) { return each.id == kFletcher32; });
        std::vector<Hdf5Filter> const group(one, end);
        auto const group_bytes = element_bytes_of(group, element_bytes);
        if (group_bytes == 0 || group_bytes > kMaxElementBytes) {
            fail_filters(filters, fmt::format("a filter takes elements of {} bytes", group_bytes));
        }
        stages.push_back({false, spec_of_filters(group, group_bytes), group_bytes});
        one = end;
    }
    auto const compressions = std::count_if(
        stages.begin(), stages.end(), [](auto const& stage) { return stage.spec.compression != Compression::none; });
    if (compressions > 1) fail_filters(filters, "two compressions follow each other");
    return pipeline_name(stages, element_bytes);
}

} // namespace thalweg::codec
