#include "thalweg/format/rntuple/reading/stored_clusters.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "thalweg/codec/root_codec.h"

namespace thalweg::format::rntuple {
namespace {

constexpr std::string_view kPrefix = "root:";

// "splitint32" of "root:splitint32+zstd-5".
std::string_view encoding_of(std::string_view codec) {
    if (!codec.starts_with(kPrefix)) return {};
    return codec.substr(kPrefix.size(), codec.find('+') - kPrefix.size());
}

// Bytes that stand for themselves have several names.
bool is_same(std::string_view a, std::string_view b) {
    constexpr std::array<std::string_view, 4> kBytes = {"byte", "char", "int8", "uint8"};
    auto const is_byte = [&](auto each) { return std::ranges::find(kBytes, each) != kBytes.end(); };
    return !a.empty() && (a == b || (is_byte(a) && is_byte(b)));
}

} // namespace

std::optional<StoredClusters> StoredClusters::read(storage::Storage const& file, std::string const& path) {
    auto content = read_ntuples(file);
    auto const own = is_own(content);
    auto const found = std::ranges::find(content.ntuples, path, &StoredNTuple::path);
    if (found == content.ntuples.end() || found->clusters.empty()) return std::nullopt;
    StoredClusters stored;
    if (own) {
        auto const& head = content.text->head;
        for (std::size_t t = 0; t < head.schema.tables.size(); ++t) {
            if (head.schema.tables[t].name != path) continue;
            stored.columns_ = head.columns[t];
            for (auto const& column : head.layouts[t].columns)
                stored.forms_.push_back({{stored.forms_.size(), std::string(encoding_of(column.codec))}});
        }
        if (stored.columns_.empty()) return std::nullopt;
    } else {
        auto table = read_table(path, found->header, whole_schema(*found));
        stored.columns_ = std::move(table.columns);
        for (auto const& source : table.sources) {
            auto& forms = stored.forms_.emplace_back();
            for (auto const& each : source.representations)
                forms.push_back({each.physical, std::string(encoding_of(each.codec))});
        }
    }
    stored.clusters_ = std::move(found->clusters);
    return stored;
}

std::optional<StoredPages> StoredClusters::pages(std::size_t cluster, std::size_t column) const {
    auto const& ranges = clusters_[cluster].columns;
    for (auto const& [physical, encoding] : forms_[column]) {
        // Clusters that are older than a column of the extension do not list it.
        if (physical >= ranges.size() || ranges[physical].suppressed) continue;
        auto const& range = ranges[physical];
        StoredPages stored{encoding, range.compression, range.pages};
        for (auto const& page : range.pages) stored.elements += page.elements;
        return stored;
    }
    return std::nullopt;
}

bool is_encoded_by(StoredPages const& stored, std::string const& codec) {
    return is_same(stored.encoding, encoding_of(codec)) && stored.compression == codec::compression_settings(codec);
}

std::optional<std::string> usual_codec(StoredClusters const& stored, std::span<std::size_t const> columns) {
    std::map<std::string, std::uint64_t> bytes; // by what a user says
    for (std::size_t cluster = 0; cluster < stored.clusters().size(); ++cluster) {
        for (auto const column : columns) {
            auto const pages = stored.pages(cluster, column);
            auto const name = pages ? codec::compression_of_settings(pages->compression) : "";
            if (name.empty()) continue;
            std::uint64_t size = 0;
            for (auto const& page : pages->pages) size += page.locator.stored_bytes;
            for (auto const& wish : {name, "plain+" + name}) {
                if (is_encoded_by(*pages, codec_of(stored.columns()[column], wish))) bytes[wish] += size;
            }
        }
    }
    // If two are equal, the one without "plain+" is taken: then all elements are bytes.
    auto const most = std::ranges::max_element(bytes, [](auto const& a, auto const& b) {
        return std::pair(a.second, !a.first.starts_with("plain+")) <
               std::pair(b.second, !b.first.starts_with("plain+"));
    });
    return most == bytes.end() || most->second == 0 ? std::nullopt : std::optional(most->first);
}

} // namespace thalweg::format::rntuple
