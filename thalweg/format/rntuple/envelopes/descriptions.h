// What an RNTuple says about itself, as values: the members of its envelopes, in the order and with the names of the
// RNTuple binary format specification 1.0.0.x.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace thalweg::format::rntuple {

// "Locators and Envelope Links". Only the simple form: an offset in the file and a size on the disk.
struct Locator {
    std::uint64_t offset = 0;
    std::uint64_t stored_bytes = 0;

    bool operator==(Locator const&) const = default;
};

struct EnvelopeLink {
    std::uint64_t length = 0; // uncompressed, type and checksum included
    Locator locator;

    bool operator==(EnvelopeLink const&) const = default;
};

// "Field Description"
enum class FieldRole : std::uint16_t { leaf = 0, collection = 1, record = 2, variant = 3, streamer = 4 };

struct FieldDescription {
    std::uint32_t field_version = 0;
    std::uint32_t type_version = 0;
    std::uint32_t parent = 0; // its own index: a top-level field
    FieldRole role = FieldRole::leaf;
    std::string name;
    std::string type_name; // normalised, "std::int32_t"; empty: untyped
    std::string type_alias;
    std::string description;
    std::optional<std::uint64_t> array_size;     // flag 0x01: a fixed-size array
    std::optional<std::uint32_t> projected_from; // flag 0x02
    std::optional<std::uint32_t> type_checksum;  // flag 0x04
    bool struct_of_arrays = false;               // flag 0x08: in memory only; on the disk a collection like any other

    bool operator==(FieldDescription const&) const = default;
};

// "Column Description": on-disk types by the codes of the specification.
enum class ColumnType : std::uint16_t {
    bit = 0x00,
    byte = 0x01,
    character = 0x02,
    int8 = 0x03,
    uint8 = 0x04,
    int16 = 0x05,
    uint16 = 0x06,
    int32 = 0x07,
    uint32 = 0x08,
    int64 = 0x09,
    uint64 = 0x0a,
    real16 = 0x0b,
    real32 = 0x0c,
    real64 = 0x0d,
    index32 = 0x0e,
    index64 = 0x0f,
    switch_ = 0x10,
    split_int16 = 0x11,
    split_uint16 = 0x12,
    split_int32 = 0x13,
    split_uint32 = 0x14,
    split_int64 = 0x15,
    split_uint64 = 0x16,
    split_real16 = 0x17,
    split_real32 = 0x18,
    split_real64 = 0x19,
    split_index32 = 0x1a,
    split_index64 = 0x1b,
    real32_truncated = 0x1c,
    real32_quantized = 0x1d,
};

struct ColumnDescription {
    ColumnType type = ColumnType::byte;
    std::uint16_t bits = 8; // of one element on the disk
    std::uint32_t field = 0;
    std::uint16_t representation = 0;
    std::optional<std::int64_t> first_element;      // flag 0x01: deferred; negative: suppressed, too
    std::optional<std::pair<double, double>> range; // flag 0x02: of real32_quantized

    bool operator==(ColumnDescription const&) const = default;
};

struct AliasColumn {
    std::uint32_t physical = 0;
    std::uint32_t field = 0;

    bool operator==(AliasColumn const&) const = default;
};

struct ExtraType { // content of streamer fields; kept to be told, never interpreted
    std::uint32_t content = 0;
    std::uint32_t type_version = 0;
    std::string type_name;
    std::string bytes;

    bool operator==(ExtraType const&) const = default;
};

// The four lists of the header, and of the schema extension in the footer.
struct SchemaDescription {
    std::vector<FieldDescription> fields;
    std::vector<ColumnDescription> columns;
    std::vector<AliasColumn> aliases;
    std::vector<ExtraType> extra_types;

    bool operator==(SchemaDescription const&) const = default;
};

// "Header Envelope"
struct Header {
    std::uint64_t feature_flags = 0;
    std::string name;
    std::string description;
    std::string writer;
    SchemaDescription schema;

    bool operator==(Header const&) const = default;
};

// "Page List Envelope"
struct PageDescription {
    std::uint32_t elements = 0;
    bool checksum = false; // 8 bytes of XXH3 follow the page; the locator's size does not count them
    Locator locator;

    bool operator==(PageDescription const&) const = default;
};

struct ColumnRange { // the pages of one column in one cluster
    std::vector<PageDescription> pages;
    std::uint64_t first_element = 0;
    std::uint32_t compression = 0; // 100 * algorithm + level
    bool suppressed = false;       // no pages: another representation of the field has them

    bool operator==(ColumnRange const&) const = default;
};

struct ClusterDescription {
    std::uint64_t first_entry = 0;
    std::uint64_t entries = 0;
    std::vector<ColumnRange> columns; // physical columns, in the order of the schema

    bool operator==(ClusterDescription const&) const = default;
};

struct PageList {
    std::uint64_t header_checksum = 0;
    std::vector<ClusterDescription> clusters;

    bool operator==(PageList const&) const = default;
};

// "Footer Envelope"
struct ClusterGroup {
    std::uint64_t first_entry = 0;
    std::uint64_t entries = 0;
    std::uint32_t clusters = 0;
    EnvelopeLink page_list;

    bool operator==(ClusterGroup const&) const = default;
};

struct Footer {
    std::uint64_t feature_flags = 0;
    std::uint64_t header_checksum = 0;
    SchemaDescription extension; // of the schema, added while the file was written
    std::vector<ClusterGroup> groups;

    bool operator==(Footer const&) const = default;
};

// "Anchor Schema"
struct Anchor {
    std::uint16_t version_epoch = 1;
    std::uint16_t version_major = 0;
    std::uint16_t version_minor = 0;
    std::uint16_t version_patch = 1;
    std::uint64_t header_offset = 0;
    std::uint64_t header_stored_bytes = 0;
    std::uint64_t header_bytes = 0;
    std::uint64_t footer_offset = 0;
    std::uint64_t footer_stored_bytes = 0;
    std::uint64_t footer_bytes = 0;
    std::uint64_t max_key_bytes = 0;

    bool operator==(Anchor const&) const = default;
};

} // namespace thalweg::format::rntuple
