// Writing. The sections of the specification stand at the functions.
#include "thalweg/format/rntuple/envelopes/envelopes.h"

#include <limits>
#include <optional>

#include "thalweg/base/assert.h"
#include "thalweg/base/checksum.h"
#include "thalweg/format/rntuple/envelopes/bytes.h"
#include "thalweg/format/rntuple/envelopes/envelopes_codes.h"

namespace thalweg::format::rntuple {
namespace {

// "Frames": the size, which is known and put in front when all of the frame is there; of lists it is negative, and the
// number of items follows.
class WrittenFrame {
  public:
    static WrittenFrame record(LittlePutter& to) { return {to, 1}; }
    static WrittenFrame list(LittlePutter& to, std::size_t items) {
        return {to, -1, static_cast<std::uint32_t>(items)};
    }
    ~WrittenFrame() {
        THALWEG_ASSERT(to_.size() >= begin_ + sizeof(std::int64_t), "a frame ends behind its size");
        to_.put_at<std::int64_t>(begin_, sign_ * static_cast<std::int64_t>(to_.size() - begin_));
    }
    WrittenFrame(WrittenFrame const&) = delete;
    WrittenFrame& operator=(WrittenFrame const&) = delete;

  private:
    WrittenFrame(LittlePutter& to, std::int64_t sign, std::optional<std::uint32_t> items = {})
        : to_(to), begin_(to.size()), sign_(sign) {
        to.put<std::int64_t>(0);
        if (items) to.put<std::uint32_t>(*items);
    }

    LittlePutter& to_;
    std::size_t begin_;
    std::int64_t sign_;
};

// "Basic Types"
void put_string(LittlePutter& to, std::string const& text) {
    to.put<std::uint32_t>(static_cast<std::uint32_t>(text.size()));
    to.put_text(text);
}

// "Locators and Envelope Links": the large form only where the size needs it, because not all readers know it.
void put_locator(LittlePutter& to, Locator const& locator) {
    if (locator.stored_bytes <= std::numeric_limits<std::int32_t>::max()) {
        to.put<std::uint32_t>(static_cast<std::uint32_t>(locator.stored_bytes));
    } else {
        to.put<std::int32_t>(-(kLargeLocator << 24 | kLargeLocatorBytes));
        to.put<std::uint64_t>(locator.stored_bytes);
    }
    to.put<std::uint64_t>(locator.offset);
}

// "Field Description"
void put_field(LittlePutter& to, FieldDescription const& field) {
    auto const frame = WrittenFrame::record(to);
    to.put<std::uint32_t>(field.field_version);
    to.put<std::uint32_t>(field.type_version);
    to.put<std::uint32_t>(field.parent);
    to.put<FieldRole>(field.role);
    to.put<std::uint16_t>(static_cast<std::uint16_t>(
        (field.array_size ? kArrayField : 0) | (field.projected_from ? kProjectedField : 0) |
        (field.type_checksum ? kFieldWithChecksum : 0) | (field.struct_of_arrays ? kStructOfArraysField : 0)));
    put_string(to, field.name);
    put_string(to, field.type_name);
    put_string(to, field.type_alias);
    put_string(to, field.description);
    if (field.array_size) to.put<std::uint64_t>(*field.array_size);
    if (field.projected_from) to.put<std::uint32_t>(*field.projected_from);
    if (field.type_checksum) to.put<std::uint32_t>(*field.type_checksum);
}

// "Column Description"
void put_column(LittlePutter& to, ColumnDescription const& column) {
    auto const frame = WrittenFrame::record(to);
    to.put<ColumnType>(column.type);
    to.put<std::uint16_t>(column.bits);
    to.put<std::uint32_t>(column.field);
    to.put<std::uint16_t>(static_cast<std::uint16_t>((column.first_element ? kDeferredColumn : 0) |
                                                     (column.range ? kColumnWithRange : 0)));
    to.put<std::uint16_t>(column.representation);
    if (column.first_element) to.put<std::int64_t>(*column.first_element);
    if (column.range) {
        to.put<double>(column.range->first);
        to.put<double>(column.range->second);
    }
}

// "Alias columns"
void put_alias(LittlePutter& to, AliasColumn const& alias) {
    auto const frame = WrittenFrame::record(to);
    to.put<std::uint32_t>(alias.physical);
    to.put<std::uint32_t>(alias.field);
}

// "Extra type information"
void put_extra_type(LittlePutter& to, ExtraType const& extra) {
    auto const frame = WrittenFrame::record(to);
    to.put<std::uint32_t>(extra.content);
    to.put<std::uint32_t>(extra.type_version);
    put_string(to, extra.type_name);
    put_string(to, extra.bytes);
}

template <class Item>
void put_list(LittlePutter& to, std::vector<Item> const& items, void (*put_item)(LittlePutter&, Item const&)) {
    auto const frame = WrittenFrame::list(to, items.size());
    for (auto const& item : items) put_item(to, item);
}

void put_schema(LittlePutter& to, SchemaDescription const& schema) {
    put_list(to, schema.fields, put_field);
    put_list(to, schema.columns, put_column);
    put_list(to, schema.aliases, put_alias);
    put_list(to, schema.extra_types, put_extra_type);
}

// "Cluster Summary Record Frame"
void put_summary(LittlePutter& to, ClusterDescription const& cluster) {
    auto const frame = WrittenFrame::record(to);
    to.put<std::uint64_t>(cluster.first_entry);
    to.put<std::uint64_t>(cluster.entries); // 56 bits; 8 bits of flags, of which none is ours
}

// "Page Locations": inner items, and what follows them within their frame.
void put_range(LittlePutter& to, ColumnRange const& range) {
    auto const frame = WrittenFrame::list(to, range.pages.size());
    for (auto const& page : range.pages) {
        auto const elements = static_cast<std::int32_t>(page.elements);
        to.put<std::int32_t>(page.checksum ? -elements : elements);
        put_locator(to, page.locator);
    }
    to.put<std::int64_t>(range.suppressed ? kSuppressed : static_cast<std::int64_t>(range.first_element));
    if (!range.suppressed) to.put<std::uint32_t>(range.compression);
}

void put_ranges(LittlePutter& to, ClusterDescription const& cluster) { put_list(to, cluster.columns, put_range); }

// "Cluster Group Record Frame"
void put_group(LittlePutter& to, ClusterGroup const& group) {
    auto const frame = WrittenFrame::record(to);
    to.put<std::uint64_t>(group.first_entry);
    to.put<std::uint64_t>(group.entries);
    to.put<std::uint32_t>(group.clusters);
    to.put<std::uint64_t>(group.page_list.length);
    put_locator(to, group.page_list.locator);
}

// "Envelopes": the length counts everything, the checksum is of everything but itself.
template <class PutContent> std::vector<std::byte> make_envelope(EnvelopeType type, PutContent const& put_content) {
    LittlePutter to;
    to.put<std::uint64_t>(0);
    put_content(to);
    auto const length = to.size() + sizeof(std::uint64_t);
    to.put_at<std::uint64_t>(0, static_cast<std::uint64_t>(type) | length << 16);
    to.put<std::uint64_t>(base::xxh3(to.bytes()));
    return to.release();
}

} // namespace

std::vector<std::byte> to_envelope(Header const& header) {
    return make_envelope(EnvelopeType::header, [&](LittlePutter& to) {
        to.put<std::uint64_t>(header.feature_flags);
        put_string(to, header.name);
        put_string(to, header.description);
        put_string(to, header.writer);
        put_schema(to, header.schema);
    });
}

std::vector<std::byte> to_envelope(PageList const& list) {
    return make_envelope(EnvelopeType::page_list, [&](LittlePutter& to) {
        to.put<std::uint64_t>(list.header_checksum);
        put_list(to, list.clusters, put_summary);
        put_list(to, list.clusters, put_ranges);
    });
}

std::vector<std::byte> to_envelope(Footer const& footer) {
    return make_envelope(EnvelopeType::footer, [&](LittlePutter& to) {
        to.put<std::uint64_t>(footer.feature_flags);
        to.put<std::uint64_t>(footer.header_checksum);
        {
            auto const frame = WrittenFrame::record(to);
            put_schema(to, footer.extension);
        }
        put_list(to, footer.groups, put_group);
    });
}

std::uint64_t envelope_checksum(std::span<std::byte const> envelope) {
    return take_number<std::endian::little, std::uint64_t>(envelope.last(sizeof(std::uint64_t)).data());
}

} // namespace thalweg::format::rntuple
