#include "thalweg/format/rntuple/reading/ntuple_file.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string_view>
#include <tuple>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/codec/root_codec.h"
#include "thalweg/format/rntuple/envelopes/envelopes.h"
#include "thalweg/format/rntuple/schema/schema.h"

namespace thalweg::format::rntuple {
namespace {

constexpr char const* kAnchorClass = "ROOT::RNTuple";
constexpr char const* kOldAnchorClass = "ROOT::Experimental::RNTuple";
constexpr std::array<std::string_view, 3> kTreeClasses = {"TTree", "TNtuple", "TNtupleD"};
// No metadata is compressed by more than this factor: a damaged length must not ask for all memory of the machine.
constexpr std::uint64_t kMostShrinkingOfHeads = 4096;

RunText read_run_text(storage::Storage const& file, FileKey const& key) {
    std::string text;
    try {
        text = read_text(file, key);
    } catch (base::DataError const& error) {
        base::fail_data({fmt::format("the text '{}' cannot be read", kTextName), error.what()});
    }
    return parse_run_text(text);
}

std::string why_not(std::string const& version) {
    return fmt::format("it is an RNTuple of {}, and only 1.* is read: write it again with ROOT 6.34 or later", version);
}

class NTupleReader {
  public:
    NTupleReader(storage::Storage const& file, std::string const& path) : file_(file), path_(path) {}

    StoredNTuple read(FileKey const& key, std::span<std::byte const> anchor_bytes) {
        auto const anchor = parse_anchor(anchor_bytes, what("anchor", key.offset + key.key_bytes));
        EnvelopeLink const header_link{anchor.header_bytes, {anchor.header_offset, anchor.header_stored_bytes}};
        EnvelopeLink const footer_link{anchor.footer_bytes, {anchor.footer_offset, anchor.footer_stored_bytes}};
        auto const header = read_envelope(file_, header_link, what("header", anchor.header_offset));
        auto const footer = read_envelope(file_, footer_link, what("footer", anchor.footer_offset));
        StoredNTuple ntuple{path_, parse_header(header, what("header", anchor.header_offset)), {}, {}};
        auto parsed = parse_footer(footer, what("footer", anchor.footer_offset));
        auto const checksum = envelope_checksum(header);
        check(parsed.header_checksum, checksum, what("footer", anchor.footer_offset));
        ntuple.extension = std::move(parsed.extension);
        for (auto const& group : parsed.groups) add_clusters(ntuple, group, checksum);
        std::sort(ntuple.clusters.begin(), ntuple.clusters.end(), [](auto const& a, auto const& b) {
            return std::tie(a.first_entry, a.entries) < std::tie(b.first_entry, b.entries);
        });
        return ntuple;
    }

  private:
    std::string what(std::string const& part, std::uint64_t offset) const {
        return fmt::format("{}: the {} of RNTuple '{}' at offset {}", file_.path(), part, path_, offset);
    }

    static void check(std::uint64_t named, std::uint64_t checksum, std::string const& what) {
        if (named != checksum) base::fail_data({what + " cannot be used", "it belongs to another header"});
    }

    void add_clusters(StoredNTuple& ntuple, ClusterGroup const& group, std::uint64_t checksum) {
        auto const name = what("page list", group.page_list.locator.offset);
        list_bytes_ += group.page_list.locator.stored_bytes;
        if (list_bytes_ > file_.size()) base::fail_data({name + " cannot be used", "several page lists lie there"});
        auto list = parse_page_list(read_envelope(file_, group.page_list, name), name);
        check(list.header_checksum, checksum, name);
        if (list.clusters.size() != group.clusters) {
            base::fail_data({name + " cannot be used",
                             fmt::format("it has {} clusters, its group {}", list.clusters.size(), group.clusters)});
        }
        std::move(list.clusters.begin(), list.clusters.end(), std::back_inserter(ntuple.clusters));
    }

    storage::Storage const& file_;
    std::string const& path_;
    std::uint64_t list_bytes_ = 0; // so far: lists that share their bytes would never end
};

} // namespace

std::vector<std::byte> read_envelope(storage::Storage const& file, EnvelopeLink const& link, std::string const& what) {
    auto const& [offset, stored_bytes] = link.locator;
    if (offset > file.size() || stored_bytes > file.size() - offset) {
        base::fail_data({what + " cannot be read", fmt::format("it would lie at offsets {} to {}, the file ends at {}",
                                                               offset, offset + stored_bytes, file.size())});
    }
    if (link.length / kMostShrinkingOfHeads > stored_bytes) {
        base::fail_data(
            {what + " cannot be read", fmt::format("{} bytes are said to hold {}", stored_bytes, link.length)});
    }
    std::vector<std::byte> stored(stored_bytes);
    file.read(offset, stored);
    if (link.length == stored_bytes) return stored;
    std::vector<std::byte> envelope(link.length);
    try {
        codec::decompress_root_blocks(stored, envelope);
    } catch (base::DataError const& error) {
        base::fail_data({what + " cannot be read", error.what()});
    }
    return envelope;
}

NTupleFile read_ntuples(storage::Storage const& file) {
    NTupleFile result;
    for (auto const& key : read_keys(file)) {
        bool const is_text = key.class_name == "TObjString";
        if (key.class_name == kAnchorClass) {
            auto const anchor = read_object(file, key);
            if (auto const version = other_version(anchor))
                result.others_versions.push_back({key.path, why_not(*version)});
            else
                result.ntuples.push_back(NTupleReader(file, key.path).read(key, anchor));
        } else if (key.class_name == kOldAnchorClass) {
            result.others_versions.push_back({key.path, why_not(old_anchor_version(read_object(file, key)))});
        } else if (std::ranges::find(kTreeClasses, key.class_name) != kTreeClasses.end()) {
            result.trees.push_back(key.path);
        } else if (is_text && key.path == kTextName) {
            result.text = read_run_text(file, key);
        } else if (is_text && key.path == kMergedName) {
            result.merged_from = read_text(file, key);
        } else if (key.class_name != "TDirectory" && key.class_name != "TDirectoryFile") {
            result.others.push_back({key.path, fmt::format("it is a {} and no table", key.class_name)});
        }
    }
    return result;
}

SchemaDescription whole_schema(StoredNTuple const& ntuple) {
    auto schema = ntuple.header.schema;
    auto const& more = ntuple.extension;
    schema.fields.insert(schema.fields.end(), more.fields.begin(), more.fields.end());
    schema.columns.insert(schema.columns.end(), more.columns.begin(), more.columns.end());
    schema.aliases.insert(schema.aliases.end(), more.aliases.begin(), more.aliases.end());
    schema.extra_types.insert(schema.extra_types.end(), more.extra_types.begin(), more.extra_types.end());
    return schema;
}

bool is_own(NTupleFile const& file) {
    if (!file.text) return false;
    auto const& head = file.text->head;
    for (std::size_t t = 0; t < head.schema.tables.size(); ++t) {
        auto const is_table = [&](auto const& each) { return each.path == head.schema.tables[t].name; };
        auto const found = std::find_if(file.ntuples.begin(), file.ntuples.end(), is_table);
        if (found == file.ntuples.end()) continue; // said by `load_own`
        bool const same = found->header.schema == describe(head.schema.tables[t], head.layouts[t]);
        if (!same || found->extension != SchemaDescription{}) return false;
    }
    return true;
}

} // namespace thalweg::format::rntuple
