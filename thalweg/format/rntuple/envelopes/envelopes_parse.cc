// Parsing. Whatever the bytes say, nothing is taken from outside of them, and no list is made longer than its bytes can
// fill.
#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/format/rntuple/envelopes/bytes.h"
#include "thalweg/format/rntuple/envelopes/envelopes.h"
#include "thalweg/format/rntuple/envelopes/envelopes_codes.h"

namespace thalweg::format::rntuple {
namespace {

constexpr std::size_t kRecordHeadBytes = sizeof(std::int64_t);
constexpr std::size_t kListHeadBytes = kRecordHeadBytes + sizeof(std::uint32_t);
constexpr std::size_t kLeastPageBytes = 16; // number of elements, and the shortest locator

// A frame, which knows its end. Bytes that are left once all known members are taken are of a newer minor version, and
// are skipped.
class TakenFrame {
  public:
    static TakenFrame record(LittleTaker& from) { return {from, kRecordHeadBytes}; }
    // `item_bytes`: the least that an item takes.
    static TakenFrame list(LittleTaker& from, std::size_t item_bytes) {
        TakenFrame frame(from, kListHeadBytes);
        frame.items_ = from.take<std::uint32_t>();
        if (frame.items_ > frame.left(from) / item_bytes) {
            from.fail(fmt::format("a list of {} items does not fit into its {} bytes", frame.items_, frame.left(from)));
        }
        return frame;
    }

    std::uint32_t items() const { return items_; }
    std::size_t left(LittleTaker const& from) const {
        if (from.position() > end_) from.fail("what it holds reaches beyond the end of its frame");
        return end_ - from.position();
    }
    void end(LittleTaker& from) const { from.skip(left(from)); }

  private:
    TakenFrame(LittleTaker& from, std::size_t head_bytes) {
        bool const wants_list = head_bytes == kListHeadBytes;
        auto const begin = from.position();
        auto const size = from.take<std::int64_t>();
        if ((size < 0) != wants_list) from.fail(wants_list ? "this is no list" : "this is a list");
        auto const size_bytes = size < 0 ? 0 - static_cast<std::uint64_t>(size) : static_cast<std::uint64_t>(size);
        if (size_bytes < head_bytes || size_bytes - kRecordHeadBytes > from.left()) {
            from.fail(fmt::format("a frame of {} bytes is not possible here", size_bytes));
        }
        end_ = begin + size_bytes;
    }

    std::size_t end_ = 0;
    std::uint32_t items_ = 0;
};

std::string take_string(LittleTaker& from) { return from.take_text(from.take<std::uint32_t>()); }

template <class Item>
std::vector<Item> take_list(LittleTaker& from, std::size_t item_bytes, Item (*take_item)(LittleTaker&)) {
    auto const frame = TakenFrame::list(from, item_bytes);
    std::vector<Item> items;
    items.reserve(frame.items());
    for (std::uint32_t i = 0; i < frame.items(); ++i) items.push_back(take_item(from));
    frame.end(from);
    return items;
}

// An item that is a record of its own.
template <class Item, void (*kTake)(LittleTaker&, Item&)> Item take_record(LittleTaker& from) {
    auto const frame = TakenFrame::record(from);
    Item item;
    kTake(from, item);
    frame.end(from);
    return item;
}

Locator take_locator(LittleTaker& from) {
    auto const word = from.take<std::int32_t>();
    Locator locator;
    if (word >= 0) {
        locator.stored_bytes = static_cast<std::uint64_t>(word);
    } else if (word == -(kLargeLocator << 24 | kLargeLocatorBytes)) {
        locator.stored_bytes = from.take<std::uint64_t>();
    } else {
        from.fail("a locator of an unknown kind: not of a place in this file");
    }
    locator.offset = from.take<std::uint64_t>();
    return locator;
}

void take_field(LittleTaker& from, FieldDescription& field) {
    field.field_version = from.take<std::uint32_t>();
    field.type_version = from.take<std::uint32_t>();
    field.parent = from.take<std::uint32_t>();
    field.role = from.take<FieldRole>();
    auto const flags = from.take<std::uint16_t>();
    field.name = take_string(from);
    field.type_name = take_string(from);
    field.type_alias = take_string(from);
    field.description = take_string(from);
    if (flags & kArrayField) field.array_size = from.take<std::uint64_t>();
    if (flags & kProjectedField) field.projected_from = from.take<std::uint32_t>();
    if (flags & kFieldWithChecksum) field.type_checksum = from.take<std::uint32_t>();
    field.struct_of_arrays = (flags & kStructOfArraysField) != 0;
}

void take_column(LittleTaker& from, ColumnDescription& column) {
    column.type = from.take<ColumnType>();
    column.bits = from.take<std::uint16_t>();
    column.field = from.take<std::uint32_t>();
    auto const flags = from.take<std::uint16_t>();
    column.representation = from.take<std::uint16_t>();
    if (flags & kDeferredColumn) column.first_element = from.take<std::int64_t>();
    if (flags & kColumnWithRange) {
        auto const least = from.take<double>();
        column.range = {least, from.take<double>()};
    }
}

void take_alias(LittleTaker& from, AliasColumn& alias) {
    alias.physical = from.take<std::uint32_t>();
    alias.field = from.take<std::uint32_t>();
}

void take_extra_type(LittleTaker& from, ExtraType& extra) {
    extra.content = from.take<std::uint32_t>();
    extra.type_version = from.take<std::uint32_t>();
    extra.type_name = take_string(from);
    extra.bytes = take_string(from);
}

SchemaDescription take_schema(LittleTaker& from) {
    SchemaDescription schema;
    schema.fields = take_list(from, kRecordHeadBytes + 32, take_record<FieldDescription, take_field>);
    schema.columns = take_list(from, kRecordHeadBytes + 12, take_record<ColumnDescription, take_column>);
    schema.aliases = take_list(from, kRecordHeadBytes + 8, take_record<AliasColumn, take_alias>);
    schema.extra_types = take_list(from, kRecordHeadBytes + 16, take_record<ExtraType, take_extra_type>);
    return schema;
}

void take_summary(LittleTaker& from, ClusterDescription& cluster) {
    cluster.first_entry = from.take<std::uint64_t>();
    auto const entries_and_flags = from.take<std::uint64_t>();
    cluster.entries = entries_and_flags & 0x00ffffffffffffff;
    if (entries_and_flags >> 56 & 0x01) from.fail("a sharded cluster, which this version cannot read");
}

PageDescription take_page(LittleTaker& from) {
    auto const elements = from.take<std::int32_t>();
    auto const count = static_cast<std::uint32_t>(elements);
    return {elements < 0 ? 0 - count : count, elements < 0, take_locator(from)};
}

ColumnRange take_range(LittleTaker& from) {
    auto const frame = TakenFrame::list(from, kLeastPageBytes);
    ColumnRange range;
    range.pages.reserve(frame.items());
    for (std::uint32_t i = 0; i < frame.items(); ++i) range.pages.push_back(take_page(from));
    auto const offset = from.take<std::int64_t>();
    range.suppressed = offset < 0;
    if (range.suppressed && !range.pages.empty()) from.fail("a suppressed column has pages");
    if (!range.suppressed) {
        range.first_element = static_cast<std::uint64_t>(offset);
        range.compression = from.take<std::uint32_t>();
    }
    frame.end(from);
    return range;
}

std::vector<ColumnRange> take_ranges(LittleTaker& from) { return take_list(from, kListHeadBytes + 8, take_range); }

void take_group(LittleTaker& from, ClusterGroup& group) {
    group.first_entry = from.take<std::uint64_t>();
    group.entries = from.take<std::uint64_t>();
    group.clusters = from.take<std::uint32_t>();
    group.page_list.length = from.take<std::uint64_t>();
    group.page_list.locator = take_locator(from);
}

// "Feature Flags": a reader that does not know one must not read on.
std::uint64_t take_feature_flags(LittleTaker& from) {
    auto const flags = from.take<std::uint64_t>();
    if (flags != 0) from.fail(fmt::format("it needs features that are not known here (flags {:#x})", flags));
    return flags;
}

// The content of an envelope of the right type, length and checksum.
LittleTaker open_envelope(std::span<std::byte const> envelope, EnvelopeType type, std::string const& what) {
    LittleTaker whole(envelope, what);
    auto const head = whole.take<std::uint64_t>();
    if (auto const found = head & 0xffff; found != static_cast<std::uint64_t>(type)) {
        whole.fail(fmt::format("an envelope of type {} where type {} is expected", found, static_cast<int>(type)));
    }
    if (head >> 16 != envelope.size()) {
        whole.fail(fmt::format("it says that it has {} bytes, but there are {}", head >> 16, envelope.size()));
    }
    if (whole.left() < sizeof(std::uint64_t)) whole.fail("it is too short for a checksum");
    auto const checked = envelope.first(envelope.size() - sizeof(std::uint64_t));
    if (base::xxh3(checked) != envelope_checksum(envelope)) whole.fail("its checksum is wrong");
    return {checked.subspan(sizeof head), what, sizeof head};
}

} // namespace

void check_references(SchemaDescription const& schema, std::string const& what) {
    auto const fields = schema.fields.size();
    auto const field_exists = [&](auto const& column) { return column.field < fields; };
    for (auto const& field : schema.fields) {
        if (field.parent >= fields || field.projected_from.value_or(0) >= fields) {
            base::fail_data({what, fmt::format("field '{}' belongs to a field that is not there", field.name)});
        }
    }
    if (!std::ranges::all_of(schema.columns, field_exists) || !std::ranges::all_of(schema.aliases, field_exists)) {
        base::fail_data({what, "a column belongs to a field that is not there"});
    }
    for (auto const& alias : schema.aliases) {
        if (alias.physical >= schema.columns.size()) base::fail_data({what, "an alias of a column that is not there"});
    }
}

Header parse_header(std::span<std::byte const> envelope, std::string const& what) {
    auto from = open_envelope(envelope, EnvelopeType::header, what);
    Header header;
    header.feature_flags = take_feature_flags(from);
    header.name = take_string(from);
    header.description = take_string(from);
    header.writer = take_string(from);
    header.schema = take_schema(from);
    check_references(header.schema, what);
    return header;
}

PageList parse_page_list(std::span<std::byte const> envelope, std::string const& what) {
    auto from = open_envelope(envelope, EnvelopeType::page_list, what);
    PageList list;
    list.header_checksum = from.take<std::uint64_t>();
    list.clusters = take_list(from, kRecordHeadBytes + 16, take_record<ClusterDescription, take_summary>);
    auto columns = take_list(from, kListHeadBytes, take_ranges);
    if (columns.size() != list.clusters.size()) {
        from.fail(fmt::format("pages of {} clusters, but {} clusters", columns.size(), list.clusters.size()));
    }
    for (std::size_t i = 0; i < columns.size(); ++i) list.clusters[i].columns = std::move(columns[i]);
    return list;
}

Footer parse_footer(std::span<std::byte const> envelope, std::string const& what) {
    auto from = open_envelope(envelope, EnvelopeType::footer, what);
    Footer footer;
    footer.feature_flags = take_feature_flags(from);
    footer.header_checksum = from.take<std::uint64_t>();
    auto const extension = TakenFrame::record(from);
    if (extension.left(from) > 0) footer.extension = take_schema(from);
    extension.end(from);
    footer.groups = take_list(from, kRecordHeadBytes + 40, take_record<ClusterGroup, take_group>);
    return footer;
}

} // namespace thalweg::format::rntuple
