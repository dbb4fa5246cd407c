// Descriptions <-> the bytes of their envelopes ("Frames", "Envelopes" of the specification) and of the anchor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/format/rntuple/envelopes/descriptions.h"

namespace thalweg::format::rntuple {

// Whole envelopes, uncompressed: type and length in front, XXH3 behind.
std::vector<std::byte> to_envelope(Header const& header);
std::vector<std::byte> to_envelope(PageList const& list);
std::vector<std::byte> to_envelope(Footer const& footer);

// The XXH3 at the end of an envelope: footers and page lists name their header by it.
std::uint64_t envelope_checksum(std::span<std::byte const> envelope);

// `what` names the envelope in errors, with its file and offset. All throw base::DataError with the place and the
// reason: wrong type, length or checksum, frames or lists that do not fit, references to fields and columns that are
// not there, feature flags, locators and versions that we do not know. Frames longer than what we know are of a newer
// minor version, and their rest is skipped, as the specification asks. Never allocates more than the bytes can hold.
Header parse_header(std::span<std::byte const> envelope, std::string const& what);
PageList parse_page_list(std::span<std::byte const> envelope, std::string const& what);
Footer parse_footer(std::span<std::byte const> envelope, std::string const& what);

// That every field and column that another refers to is there; part of parse_header, and to be asked of header and
// extension together. Throws base::DataError.
void check_references(SchemaDescription const& schema, std::string const& what);

// The streamed object of class ROOT::RNTuple, big endian: byte count, class version, members, XXH3.
inline constexpr std::size_t kAnchorBytes = 78;
std::array<std::byte, kAnchorBytes> to_bytes(Anchor const& anchor);
Anchor parse_anchor(std::span<std::byte const> bytes, std::string const& what);
// Returns "version 0.2.0.0", or as much as an anchor from before the first release tells.
std::string old_anchor_version(std::span<std::byte const> bytes);
// Returns "version 0.3.0.0" if a sound anchor is of a version of the format that is not 1.*, and nothing otherwise.
std::optional<std::string> other_version(std::span<std::byte const> bytes);

} // namespace thalweg::format::rntuple
