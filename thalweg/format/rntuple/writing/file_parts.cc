#include "thalweg/format/rntuple/writing/file_parts.h"

#include <charconv>
#include <fmt/format.h>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/format/rntuple/envelopes/envelopes.h"
#include "thalweg/format/rntuple/schema/schema.h"
#include "thalweg/model/json.h"

namespace thalweg::format::rntuple {
namespace {

constexpr char const* kWriter = "Thalweg";
constexpr char const* kWhatText = "the text 'thalweg'";
constexpr char const* kUnits = "units";
constexpr char const* kSeal = "seal";
constexpr char const* kTextChecksum = "xxh3"; // nothing else in the file covers the text

// Always of the same length. Not a number: some readers of JSON keep 53 bits of those.
std::string hexadecimal(std::uint64_t checksum) { return fmt::format("{:016x}", checksum); }

std::string checksum_of(nlohmann::ordered_json const& json) {
    auto const text = json.dump();
    return hexadecimal(base::xxh3(std::as_bytes(std::span(text))));
}

std::uint64_t from_hexadecimal(nlohmann::ordered_json const& json) {
    auto const digits = json.get<std::string>();
    std::uint64_t checksum = 0;
    auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), checksum, 16);
    if (error != std::errc() || end != digits.data() + digits.size()) {
        base::fail_data({fmt::format("{} cannot be used", kWhatText), "'" + digits + "' is no checksum"});
    }
    return checksum;
}

nlohmann::ordered_json seal_to_json(FileSeal const& seal) {
    return {{"skeleton_bytes", seal.skeleton_bytes},
            {"skeleton", hexadecimal(seal.skeleton)},
            {"ending", hexadecimal(seal.ending)}};
}

FileSeal seal_from_json(nlohmann::ordered_json const& json) {
    return {json.at("skeleton_bytes").get<std::uint64_t>(), from_hexadecimal(json.at("skeleton")),
            from_hexadecimal(json.at("ending"))};
}

nlohmann::ordered_json units_to_json(StoredUnits const& units) {
    nlohmann::ordered_json json{{"bytes", units.bytes}, {kTextChecksum, hexadecimal(units.checksum)}};
    for (auto const& piece : units.pieces) json["pieces"].push_back({piece.offset, piece.stored_bytes});
    return json;
}

StoredUnits units_from_json(nlohmann::ordered_json const& json) {
    StoredUnits units{json.at("bytes").get<std::uint64_t>(), from_hexadecimal(json.at(kTextChecksum)), {}};
    for (auto const& piece : json.at("pieces")) {
        units.pieces.push_back({piece.at(0).get<std::uint64_t>(), piece.at(1).get<std::uint64_t>()});
    }
    return units;
}

// The last part of a name with directories: what the RNTuple itself is called.
std::string own_name(std::string const& table) { return table.substr(table.rfind('/') + 1); }

} // namespace

// The knobs and the engine may change when a run is resumed: they are in the text of the finished file alone.
FileParts file_parts(model::RunHead const& head) {
    FileParts parts;
    std::vector<TableSkeleton> tables;
    for (std::size_t i = 0; i < head.schema.tables.size(); ++i) {
        auto const& table = head.schema.tables[i];
        Header const header{0, own_name(table.name), table.description, kWriter, describe(table, head.layouts[i])};
        auto envelope = to_envelope(header);
        parts.header_checksums.push_back(envelope_checksum(envelope));
        tables.push_back({table.name, table.description, std::move(envelope)});
    }
    auto created = head;
    created.knobs.clear();
    created.engine.clear();
    auto const text = run_text(created, head.metadata, false);
    parts.skeleton = make_skeleton(fmt::format("{}.root", head.id), tables, text, head.id, head.created_s);
    return parts;
}

NamedText run_text(model::RunHead const& head, std::map<std::string, std::string> const& metadata, bool closed,
                   StoredUnits const& units, FileSeal const& seal) {
    nlohmann::ordered_json json{
        {"closed", closed}, {"metadata", metadata}, {"head", nlohmann::ordered_json::parse(model::to_json(head))}};
    if (units.bytes > 0) json[kUnits] = units_to_json(units);
    if (closed) json[kSeal] = seal_to_json(seal);
    json[kTextChecksum] = checksum_of(json);
    return {kTextName, json.dump()};
}

RunText parse_run_text(std::string const& text) {
    return model::from_json_text(text, kWhatText, [](nlohmann::ordered_json json) {
        auto const checksum = json.at(kTextChecksum).get<std::string>();
        json.erase(kTextChecksum);
        if (checksum != checksum_of(json)) {
            base::fail_data({fmt::format("{} cannot be used", kWhatText), "its checksum does not fit"});
        }
        return RunText{model::run_head_from_json(json.at("head").dump()),
                       json.at("metadata").get<std::map<std::string, std::string>>(), json.at("closed").get<bool>(),
                       json.contains(kUnits) ? units_from_json(json.at(kUnits)) : StoredUnits{},
                       json.contains(kSeal) ? seal_from_json(json.at(kSeal)) : FileSeal{}};
    });
}

Anchor anchor_of(TablePlace const& place, EnvelopeLink const& footer) {
    Anchor anchor;
    anchor.header_offset = place.header_offset;
    anchor.header_stored_bytes = place.header_stored_bytes;
    anchor.header_bytes = place.header_bytes;
    anchor.footer_offset = footer.locator.offset;
    anchor.footer_stored_bytes = footer.locator.stored_bytes;
    anchor.footer_bytes = footer.length;
    anchor.max_key_bytes = 1ull << 30;
    return anchor;
}

} // namespace thalweg::format::rntuple
