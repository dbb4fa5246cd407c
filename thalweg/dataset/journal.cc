#include "thalweg/dataset/journal.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/units.h"
#include "thalweg/model/run.h"

namespace thalweg::dataset {
namespace {

constexpr std::uint64_t kReserveBytes = 4 * base::kMiB;

std::uint32_t head_check(RecordHead const& head) {
    std::uint64_t const fields[] = {head.type, head.payload_bytes, head.payload_check};
    return static_cast<std::uint32_t>(base::xxh3(std::as_bytes(std::span(fields))));
}

std::uint64_t padded(std::uint64_t size_bytes) { return base::round_up(size_bytes, 8); }

// Reads the journal in large blocks, however small the records.
class BlockReader {
  public:
    explicit BlockReader(storage::Storage const& file) : file_(file), size_(file.size()) {}

    // Nothing where the file ends before.
    std::optional<std::span<std::byte const>> at(std::uint64_t offset, std::uint64_t size_bytes) {
        if (offset > size_ || size_bytes > size_ - offset) return std::nullopt;
        if (offset < begin_ || offset + size_bytes > begin_ + block_.size()) {
            if (!read_block(offset, std::min(std::max(size_bytes, kBlock), size_ - offset)))
                return at(offset, size_bytes);
        }
        return std::span(block_).subspan(offset - begin_, size_bytes);
    }

  private:
    // False where the file has become shorter meanwhile: whoever closes the run gives back what the journal had
    // allocated ahead, while we read it.
    bool read_block(std::uint64_t offset, std::uint64_t size_bytes) {
        block_.resize(size_bytes);
        begin_ = offset;
        try {
            file_.read(offset, block_);
            return true;
        } catch (base::SystemError const&) {
            block_.clear();
            auto const size = file_.size();
            if (size >= size_) throw;
            size_ = size;
            return false;
        }
    }

    static constexpr std::uint64_t kBlock = base::kMiB;
    storage::Storage const& file_;
    std::uint64_t size_;
    std::uint64_t begin_ = 0;
    std::vector<std::byte> block_;
};

// The next place, at or behind `offset`, that holds a sound record head.
std::optional<std::uint64_t> find_head(BlockReader& reader, std::uint64_t offset) {
    for (; auto const bytes = reader.at(offset, sizeof(RecordHead)); offset += 8) {
        RecordHead head;
        std::memcpy(&head, bytes->data(), sizeof head);
        if (head.type != 0 && head.head_check == head_check(head)) return offset;
    }
    return std::nullopt;
}

bool is_zero(RecordHead const& head) { return head.type == 0 && head.payload_bytes == 0 && head.head_check == 0; }

} // namespace

bool exists(std::string const& path) { return base::identity_of(path).has_value(); }

std::string journal_path(std::string const& data_path) { return data_path + ".journal"; }

std::optional<std::string> journal_run_id(std::string const& path) {
    try {
        if (!exists(path)) return std::nullopt;
        return read_head(*storage::open_file_storage(path, storage::OpenMode::read_only, storage::Engine::posix)).id;
    } catch (base::Error const&) {
        return std::nullopt;
    }
}

model::RunHead read_head(storage::Storage const& journal) {
    std::optional<model::RunHead> head;
    read_journal(journal, [&](RecordView const& record) {
        auto const* text = reinterpret_cast<char const*>(record.payload.data());
        if (record.type == RecordType::head) head = model::run_head_from_json({text, record.payload.size()});
        return false;
    });
    if (!head) base::fail_data({journal.path() + " cannot be read", "its first record is missing or damaged"});
    return std::move(*head);
}

JournalWriter JournalWriter::begin(std::shared_ptr<storage::Storage> file, std::string const& head_json) {
    file->write(0, std::as_bytes(std::span(kJournalMagic)));
    JournalWriter journal(std::move(file), sizeof kJournalMagic);
    journal.append_json(RecordType::head, head_json);
    journal.sync();
    return journal;
}

JournalWriter JournalWriter::resume(std::shared_ptr<storage::Storage> file) {
    auto const damage = read_journal(*file, [](RecordView const&) { return true; });
    file->resize(damage.end_offset); // nothing behind it may ever be taken for a record
    return {std::move(file), damage.end_offset};
}

void JournalWriter::append(RecordType type, std::span<std::byte const> payload, std::span<std::byte const> more) {
    auto const payload_bytes = payload.size() + more.size();
    scratch_.assign(padded(sizeof(RecordHead) + payload_bytes), std::byte{0});
    auto* const body = scratch_.data() + sizeof(RecordHead);
    if (!payload.empty()) std::memcpy(body, payload.data(), payload.size());
    if (!more.empty()) std::memcpy(body + payload.size(), more.data(), more.size());
    RecordHead head{static_cast<std::uint32_t>(type), 0, payload_bytes, base::xxh3({body, payload_bytes})};
    head.head_check = head_check(head);
    std::memcpy(scratch_.data(), &head, sizeof head);
    file_->write(end_, scratch_);
    end_ += scratch_.size();
}

void JournalWriter::sync() { file_->sync(); }

void JournalWriter::reserve_ahead(std::uint64_t size_bytes) {
    if (end_ + size_bytes <= reserved_) return;
    file_->reserve(end_, size_bytes + kReserveBytes);
    reserved_ = end_ + size_bytes + kReserveBytes;
}

JournalDamage read_journal(storage::Storage const& file, std::function<bool(RecordView const&)> const& visit) {
    BlockReader reader(file);
    auto const magic = reader.at(0, sizeof kJournalMagic);
    if (!magic || std::memcmp(magic->data(), kJournalMagic, sizeof kJournalMagic) != 0) {
        base::fail_data({file.path() + " is not a journal of Thalweg", "its first 8 bytes are something else"});
    }
    JournalDamage damage{0, sizeof kJournalMagic, ""};
    auto const note = [&](std::uint64_t offset, char const* reason) {
        if (damage.reason.empty()) damage.reason = fmt::format("{} at offset {} of {}", reason, offset, file.path());
    };
    std::uint64_t offset = sizeof kJournalMagic;
    while (auto const head_bytes = reader.at(offset, sizeof(RecordHead))) {
        RecordHead head;
        std::memcpy(&head, head_bytes->data(), sizeof head);
        if (is_zero(head)) break; // reserved space that was never used
        if (head.head_check != head_check(head)) {
            note(offset, "a record head is damaged or was cut");
            auto const next = find_head(reader, offset + 8);
            if (!next) break;
            offset = *next;
            ++damage.damaged_records;
            continue;
        }
        auto const payload_offset = offset + sizeof(RecordHead);
        auto const payload = reader.at(payload_offset, head.payload_bytes);
        if (!payload) {
            note(offset, "the last record was cut");
            break;
        }
        offset = payload_offset + padded(head.payload_bytes);
        if (base::xxh3(*payload) != head.payload_check) {
            note(payload_offset, "the content of a record is damaged");
            ++damage.damaged_records;
            continue;
        }
        damage.end_offset = offset;
        if (!visit({static_cast<RecordType>(head.type), *payload, payload_offset, offset})) break;
    }
    return damage;
}

} // namespace thalweg::dataset
