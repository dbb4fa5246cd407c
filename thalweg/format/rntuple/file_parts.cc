#include "thalweg/format/rntuple/file_parts.h"

#include <charconv>
#include <fmt/format.h>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/format/rntuple/envelopes.h"
#include "thalweg/format/rntuple/schema.h"
#include "thalweg/model/json.h"

namespace thalweg::format::rntuple {
namespace {

constexpr char const* kWriter = "Thalweg";
constexpr char const* kWhatText = "the text 'thalweg'";
constexpr char const* kUnits = "units";
constexpr char const* kTextChecksum = "xxh3"; // nothing else in the file covers the text

std::string checksum_of(nlohmann::ordered_json const& json) {
    auto const text = json.dump();
    return fmt::format("{:016x}", base::xxh3(std::as_bytes(std::span(text))));
}

nlohmann::ordered_json units_to_json(StoredUnits const& units) {
    nlohmann::ordered_json json{{"bytes", units.bytes}, {kTextChecksum, fmt::format("{:016x}", units.checksum)}};
    for (auto const& piece : units.pieces) json["pieces"].push_back({piece.offset, piece.stored_bytes});
    return json;
}

StoredUnits units_from_json(nlohmann::ordered_json const& json) {
    StoredUnits units;
    units.bytes = json.at("bytes").get<std::uint64_t>();
    auto const digits = json.at(kTextChecksum).get<std::string>();
    auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), units.checksum, 16);
    if (error != std::errc() || end != digits.data() + digits.size()) {
        base::fail_data({fmt::format("{} cannot be used", kWhatText), "the checksum of the work units is no number"});
    }
    for (auto const& piece : json.at("pieces")) {
        units.pieces.push_back({piece.at(0).get<std::uint64_t>(), piece.at(1).get<std::uint64_t>()});
    }
    return units;
}

// The last part of a name with directories: what the RNTuple itself is called.
std::string own_name(std::string const& table) { return table.substr(table.rfind('/') + 1); }

} // namespace

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
    auto const text = run_text(head, head.metadata, false);
    parts.skeleton = make_skeleton(fmt::format("{}.root", head.id), tables, text, head.id, head.created_s);
    return parts;
}

NamedText run_text(model::RunHead const& head, std::map<std::string, std::string> const& metadata, bool closed,
                   StoredUnits const& units) {
    nlohmann::ordered_json json{
        {"closed", closed}, {"metadata", metadata}, {"head", nlohmann::ordered_json::parse(model::to_json(head))}};
    if (units.bytes > 0) json[kUnits] = units_to_json(units);
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
                       json.contains(kUnits) ? units_from_json(json.at(kUnits)) : StoredUnits{}};
    });
}

Anchor anchor_of(TablePlace const& place, EnvelopeLink const& footer) {
    Anchor anchor;
    anchor.header_offset = place.header_offset;
    anchor.header_stored_bytes = anchor.header_bytes = place.header_bytes;
    anchor.footer_offset = footer.locator.offset;
    anchor.footer_stored_bytes = footer.locator.stored_bytes;
    anchor.footer_bytes = footer.length;
    anchor.max_key_bytes = 1ull << 30;
    return anchor;
}

} // namespace thalweg::format::rntuple
