// Whatever the bytes: the columns of an RNTuple file, or a DataError. The first byte chooses: the bytes as a file, or
// as changes to a sound file whose checksums are mended afterwards, with or without the text that says that it is ours.
// Build with -DTHALWEG_FUZZ=ON and clang.
#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unistd.h>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/writer.h"
#include "thalweg/format/rntuple/container/tfile.h"
#include "thalweg/format/rntuple/envelopes/envelopes.h"
#include "thalweg/format/rntuple/format.h"

namespace {

using namespace thalweg;
using namespace thalweg::dataset;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kRows = 40;
constexpr std::uint64_t kMostItems = 4096; // of a column: a few bytes can claim more rows than there is memory

model::Schema schema() {
    auto const scalar = [](std::string name, model::Scalar type, std::vector<std::uint64_t> shape = {}) {
        return model::Field{std::move(name), model::Kind::scalar, type, std::move(shape), {}, "", ""};
    };
    model::Field const inner{"", model::Kind::list, {}, {}, {scalar("", model::Scalar::float32)}, "", ""};
    model::Field const outer{"lists", model::Kind::list, {}, {}, {inner}, "", ""};
    return {{{"t", {scalar("id", model::Scalar::int32), scalar("pair", model::Scalar::uint16, {2}), outer}, ""}}};
}

// Lists of 1 list of 2 numbers.
void append_rows(Writer& writer) {
    std::vector<std::int32_t> ids(kRows);
    std::iota(ids.begin(), ids.end(), -3);
    std::vector<std::uint16_t> const pairs(2 * kRows, 7);
    std::vector<std::uint64_t> const outer(kRows, 1), inner(kRows, 2);
    std::vector<float> const values(2 * kRows, 1.5F);
    auto producer = writer.producer("t");
    producer.append(
        kRows, std::vector<std::span<std::byte const>>{std::as_bytes(std::span(ids)), std::as_bytes(std::span(pairs)),
                                                       std::as_bytes(std::span(outer)), std::as_bytes(std::span(inner)),
                                                       std::as_bytes(std::span(values))});
    producer.finish();
}

class SoundFile {
  public:
    SoundFile() {
        std::shared_ptr<storage::Storage> const file = storage::make_memory_storage("fuzz.root");
        auto const& format = format::rntuple::rntuple_format();
        CreateOptions options;
        options.shared = false;
        options.layout.narrow_page_bytes = options.layout.wide_page_bytes = 64;
        auto const head = format.make_head(schema(), options.layout, {});
        auto const writer =
            Writer::create_on(file, storage::make_memory_storage("fuzz.root.journal"), format, head, options);
        append_rows(*writer);
        writer->close(10'000'000'000);
        bytes_.resize(file->size());
        file->read(0, bytes_);
        find_places(*file);
    }

    // Each change: three bytes for its place, one for its length, the new bytes.
    Bytes changed(std::span<std::byte const> changes, bool ours) const {
        auto bytes = bytes_;
        while (changes.size() >= 5) {
            std::uint32_t at = 0;
            std::memcpy(&at, changes.data(), 3);
            at %= bytes.size();
            auto const count = std::min({std::to_integer<std::size_t>(changes[3]) % 8 + 1, changes.size() - 4,
                                         static_cast<std::size_t>(bytes.size() - at)});
            std::copy_n(changes.data() + 4, count, bytes.begin() + at);
            changes = changes.subspan(4 + count);
        }
        if (ours) {
            mend_text(bytes);
        } else {
            bytes[text_key_] = std::byte{'?'}; // of no class that we look for
        }
        mend(bytes);
        return bytes;
    }

  private:
    struct Place {
        std::uint64_t offset;
        std::uint64_t bytes;
    };

    void find_places(storage::Storage const& file) {
        using namespace format::rntuple;
        for (auto const& key : read_keys(file)) {
            if (key.path == "thalweg") text_ = {key.offset + key.key_bytes, key.stored_bytes};
            if (key.path == "t") anchor_ = key.offset + key.key_bytes;
        }
        auto const anchor = parse_anchor(std::span(bytes_).subspan(anchor_, kAnchorBytes), "anchor");
        header_ = {anchor.header_offset, anchor.header_stored_bytes};
        footer_ = {anchor.footer_offset, anchor.footer_stored_bytes};
        auto const footer = parse_footer(std::span(bytes_).subspan(footer_.offset, footer_.bytes), "footer");
        auto const& list = footer.groups.at(0).page_list.locator;
        list_ = {list.offset, list.stored_bytes};
        std::string_view const name = "TObjString";
        auto const keys_begin = bytes_.begin() + static_cast<std::ptrdiff_t>(text_.offset + text_.bytes);
        auto const found = std::search(keys_begin, bytes_.end(), reinterpret_cast<std::byte const*>(name.data()),
                                       reinterpret_cast<std::byte const*>(name.data() + name.size()));
        text_key_ = static_cast<std::uint64_t>(found - bytes_.begin());
        if (text_key_ + name.size() > bytes_.size()) std::abort();
    }

    static void put(Bytes& bytes, std::uint64_t offset, std::uint64_t value) {
        std::memcpy(bytes.data() + offset, &value, sizeof value);
    }

    static std::uint64_t mend_envelope(Bytes& bytes, Place const& place) {
        auto const sum = base::xxh3(std::span(bytes).subspan(place.offset, place.bytes - 8));
        put(bytes, place.offset + place.bytes - 8, sum);
        return sum;
    }

    void mend(Bytes& bytes) const {
        auto const header = mend_envelope(bytes, header_);
        put(bytes, footer_.offset + 16, header);
        put(bytes, list_.offset + 8, header);
        mend_envelope(bytes, footer_);
        mend_envelope(bytes, list_);
        put(bytes, anchor_ + 70, __builtin_bswap64(base::xxh3(std::span(bytes).subspan(anchor_ + 6, 64))));
    }

    void mend_text(Bytes& bytes) const {
        auto* const begin = reinterpret_cast<char*>(bytes.data() + text_.offset);
        std::string_view const text(begin, text_.bytes);
        auto const open = text.find('{');
        auto const sum = text.rfind("\"xxh3\":\"");
        if (open == text.npos || sum == text.npos || sum + 24 > text.size()) return;
        auto json = nlohmann::ordered_json::parse(text.substr(open), nullptr, false);
        if (!json.is_object()) return;
        json.erase("xxh3");
        try {
            auto const dumped = json.dump();
            auto const digits = fmt::format("{:016x}", base::xxh3(std::as_bytes(std::span(dumped))));
            digits.copy(begin + sum + 8, digits.size());
        } catch (nlohmann::json::exception const&) { // text that is no UTF-8
        }
    }

    Bytes bytes_;
    std::uint64_t anchor_ = 0;
    std::uint64_t text_key_ = 0; // its class name in the list of keys
    Place header_{}, footer_{}, list_{}, text_{};
};

// A file that no other process sees: the reader wants a name.
std::string const& path() {
    static std::string const path = fmt::format("/dev/shm/thalweg-fuzz-{}.root", ::getpid());
    static bool const registered = std::atexit([] { ::unlink(path.c_str()); }) == 0;
    static_cast<void>(registered);
    return path;
}

void write_file(std::span<std::byte const> bytes) {
    auto const descriptor = ::open(path().c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    if (::write(descriptor, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
    ::close(descriptor);
}

void read_column(Reader const& reader, std::size_t table, std::size_t column) {
    auto const& facts = reader.head().columns[table][column];
    auto const& map = reader.tables()[table].columns[column];
    if (map.pages.empty()) return;
    auto const values = map.pages.back().first + map.pages.back().count;
    auto const items = map.by_value ? values / facts.values_per_item : values;
    bool const is_lengths = facts.role == model::Column::Role::lengths;
    auto const item_bytes = is_lengths ? facts.values_per_item * 8 : facts.item_bytes();
    if (item_bytes > 1 << 16) return;
    for (auto const first : {std::uint64_t{0}, items - std::min(items, kMostItems)}) {
        ItemRange const range{first, std::min(items - first, kMostItems)};
        Bytes out(range.count * item_bytes);
        reader.read(table, column, range, out, {.threads = 1, .check_checksums = false});
        if (is_lengths) reader.elements(table, column, range);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    static SoundFile const sound;
    if (size == 0) return 0;
    auto const bytes = std::as_bytes(std::span(data, size)).subspan(1);
    write_file(data[0] % 4 == 0 ? Bytes(bytes.begin(), bytes.end()) : sound.changed(bytes, data[0] % 4 == 1));
    std::unique_ptr<Reader> reader;
    try {
        reader = Reader::open(path());
    } catch (base::DataError const&) {
        return 0;
    }
    for (std::size_t table = 0; table < reader->tables().size(); ++table) {
        for (std::size_t column = 0; column < reader->tables()[table].columns.size(); ++column) {
            try {
                read_column(*reader, table, column);
            } catch (base::DataError const&) {
            }
        }
    }
    return 0;
}
