#include <algorithm>
#include <map>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/codec/root_codec.h"
#include "thalweg/format/rntuple/container/tfile.h"
#include "thalweg/format/rntuple/container/tfile_records.h"

namespace thalweg::format::rntuple {
namespace {

constexpr std::size_t kLongestFileHead = 75;
constexpr std::size_t kBlockHeadBytes = 9; // of a compressed block: method, stored and raw bytes
constexpr std::uint32_t kIsReferenced = 1 << 4;

// A piece of the file, as far as it goes; `wanted` bytes of it may be less at the end of the file.
class FilePiece {
  public:
    FilePiece(storage::Storage const& file, std::uint64_t offset, std::uint64_t bytes)
        : bytes_(bytes_of(file, offset, bytes)), what_(file.path()), offset_(offset) {}

    BigTaker taker() const { return {bytes_, what_, offset_}; }

  private:
    static std::vector<std::byte> bytes_of(storage::Storage const& file, std::uint64_t offset, std::uint64_t bytes) {
        auto const size = file.size();
        if (offset > size || bytes > size - offset) {
            base::fail_data(
                {file.path() + ", byte " + std::to_string(offset),
                 std::to_string(bytes) + " bytes are wanted there, but the file ends at " + std::to_string(size),
                 "was it copied as a whole?"});
        }
        std::vector<std::byte> read(bytes);
        if (bytes > 0) file.read(offset, read);
        return read;
    }

    std::vector<std::byte> bytes_;
    std::string what_;
    std::uint64_t offset_;
};

std::uint64_t up_to(storage::Storage const& file, std::uint64_t offset, std::uint64_t bytes) {
    auto const size = file.size();
    return offset < size ? std::min(bytes, size - offset) : 0;
}

bool is_directory(std::string const& class_name) {
    return class_name == "TDirectory" || class_name == "TDirectoryFile";
}

class KeyReader {
  public:
    explicit KeyReader(storage::Storage const& file) : file_(file) {}

    std::vector<FileKey> read() {
        FilePiece const piece(file_, 0, up_to(file_, 0, kLongestFileHead));
        auto from = piece.taker();
        auto const head = take_file_head(from);
        read_folder("", std::uint64_t{head.begin} + head.name_bytes);
        return std::move(keys_);
    }

  private:
    // Reads the directory whose structure lies at `offset`. `path` is empty or ends with a slash.
    void read_folder(std::string const& path, std::uint64_t offset) {
        FilePiece const piece(file_, offset, up_to(file_, offset, kDirectoryBytes));
        auto from = piece.taker();
        auto const directory = take_directory(from);
        if (directory.keys_offset == 0) return; // made, but never saved
        // No key list lies in another, so all together are no longer than the file. This finds loops, too.
        list_bytes_ += directory.keys_bytes;
        if (list_bytes_ > file_.size()) from.fail("the directories are in each other, or their key lists overlap");
        FilePiece const list(file_, directory.keys_offset, directory.keys_bytes);
        from = list.taker();
        take_key(from);
        for (auto const& key : take_key_list(from)) add(path, key, from);
    }

    void add(std::string const& path, KeyHead const& head, BigTaker const& where) {
        auto const size = file_.size();
        if (head.key_bytes > head.record_bytes || head.offset > size || head.record_bytes > size - head.offset) {
            where.fail("the key '" + head.name + "' does not fit into the file: " + std::to_string(head.record_bytes) +
                       " bytes at " + std::to_string(head.offset));
        }
        FileKey const key{.path = path + head.name,
                          .class_name = head.class_name,
                          .title = head.title,
                          .cycle = head.cycle,
                          .offset = head.offset,
                          .key_bytes = head.key_bytes,
                          .stored_bytes = head.record_bytes - head.key_bytes,
                          .object_bytes = head.object_bytes};
        auto const [known, is_new] = index_.try_emplace(key.path, keys_.size());
        if (is_new)
            keys_.push_back(key);
        else if (keys_[known->second].cycle < key.cycle)
            keys_[known->second] = key;
        THALWEG_ASSERT(index_.size() == keys_.size(), "each name has one key");
        if (!is_directory(key.class_name)) return;
        if (key.path.size() > kMaxFolderBytes) where.fail("the names of its directories are too long");
        read_folder(key.path + "/", key.offset + key.key_bytes);
    }

    storage::Storage const& file_;
    std::vector<FileKey> keys_;
    std::map<std::string, std::size_t> index_; // by path
    std::uint64_t list_bytes_ = 0;
};

// Block by block, so that memory is taken only for what proved to be there.
std::vector<std::byte> decompress(BigTaker from, std::uint64_t object_bytes) {
    std::vector<std::byte> object;
    while (object.size() < object_bytes) {
        auto const rest = from;
        from.skip(3);
        std::array<std::uint32_t, 2> sizes{}; // 3 bytes each, little endian
        for (auto& size : sizes)
            for (unsigned i = 0; i < 3; ++i) size |= std::uint32_t{from.take<std::uint8_t>()} << (8 * i);
        auto const [stored_bytes, raw_bytes] = sizes;
        from.skip(stored_bytes);
        if (raw_bytes == 0 || raw_bytes > object_bytes - object.size()) {
            rest.fail("a compressed block of " + std::to_string(raw_bytes) + " bytes does not fit into its object");
        }
        object.resize(object.size() + raw_bytes);
        auto block = rest;
        try {
            codec::decompress_root_blocks(block.take_bytes(kBlockHeadBytes + stored_bytes),
                                          std::span(object).last(raw_bytes));
        } catch (base::DataError const& error) {
            rest.fail(error.what());
        }
    }
    return object;
}

} // namespace

std::vector<FileKey> read_keys(storage::Storage const& file) { return KeyReader(file).read(); }

void check_free_list(storage::Storage const& file) {
    FilePiece const piece(file, 0, up_to(file, 0, kLongestFileHead));
    auto from = piece.taker();
    auto const head = take_file_head(from);
    if (head.free_bytes == 0) return; // it was never closed
    FilePiece const list(file, head.free_offset, head.free_bytes);
    from = list.taker();
    auto const key = take_key(from);
    bool const sound = key.record_bytes == head.free_bytes && from.take<std::uint16_t>() % kWide == kFreeVersion;
    if (!sound) list.taker().fail("the list of free space is damaged");
}

std::vector<std::byte> read_object(storage::Storage const& file, FileKey const& key) {
    FilePiece const piece(file, key.offset + key.key_bytes, key.stored_bytes);
    auto from = piece.taker();
    if (key.object_bytes > key.stored_bytes) return decompress(from, key.object_bytes);
    auto const payload = from.take_bytes(key.stored_bytes);
    return {payload.begin(), payload.end()};
}

std::string read_text(storage::Storage const& file, FileKey const& key) {
    if (key.class_name != "TObjString") {
        base::fail_data({file.path() + ": '" + key.path + "'", "it is a " + key.class_name + ", not a TObjString"});
    }
    auto const object = read_object(file, key);
    BigTaker from(object, file.path() + ": '" + key.path + "'");
    from.skip(4 + 2 + 2 + 4); // byte count, versions of TObjString and TObject, id
    if ((from.take<std::uint32_t>() & kIsReferenced) != 0) from.skip(2);
    return take_string(from);
}

} // namespace thalweg::format::rntuple
