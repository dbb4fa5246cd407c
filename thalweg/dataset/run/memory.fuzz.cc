// Whatever has happened to the memory of a run whose processes are dead, ledger, table of units and page buffers: it is
// recovered, or an error says why not, and what is recovered can be read. The first byte chooses the container; then
// come changes, each of one byte for the segment, two for the place in its first 64 KiB, one for the length, and the
// new bytes. Build with -DTHALWEG_FUZZ=ON and clang.
#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <sys/wait.h>
#include <unistd.h>

#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/memory.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/journal/journal.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/run/ledger.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/dataset/writer.h"

namespace {

using namespace thalweg;
using namespace thalweg::dataset;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kRows = 300;
constexpr std::size_t kChangedBytes = 64 << 10; // of a segment: heads, rings, states, and some items
constexpr std::string_view kMemory = "/dev/shm/";

model::Schema schema() {
    auto const scalar = [](std::string name, model::Scalar type) {
        return model::Field{std::move(name), model::Kind::scalar, type, {}, {}, "", ""};
    };
    model::Field const list{"list", model::Kind::list, {}, {}, {scalar("", model::Scalar::uint16)}, "", ""};
    return {{{"t", {scalar("id", model::Scalar::int64), list}, ""}}};
}

Bytes bytes_of(std::string const& path) {
    auto const file = base::open_file(path, O_RDONLY);
    Bytes bytes(static_cast<std::size_t>(::lseek(file.get(), 0, SEEK_END)));
    if (::pread(file.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) std::abort();
    return bytes;
}

// Most of it are holes: what is none are these blocks.
struct Kept {
    Bytes bytes;
    std::vector<std::size_t> blocks;

    explicit Kept(Bytes all) : bytes(std::move(all)) {
        static Bytes const zeros(base::kBlockBytes);
        for (std::size_t at = 0; at < bytes.size(); at += base::kBlockBytes) {
            if (std::memcmp(bytes.data() + at, zeros.data(), size_at(at)) != 0) blocks.push_back(at);
        }
    }
    std::size_t size_at(std::size_t at) const { return std::min<std::size_t>(base::kBlockBytes, bytes.size() - at); }
    void put(std::string const& path) const {
        auto const file = base::open_file(path, O_RDWR | O_CREAT);
        auto const size = static_cast<off_t>(bytes.size());
        if (::ftruncate(file.get(), 0) != 0 || ::ftruncate(file.get(), size) != 0) std::abort();
        for (auto const at : blocks) {
            auto const written = ::pwrite(file.get(), bytes.data() + at, size_at(at), static_cast<off_t>(at));
            if (written != static_cast<ssize_t>(size_at(at))) std::abort();
        }
    }
};

CreateOptions options() {
    CreateOptions options;
    options.layout.narrow_page_bytes = options.layout.wide_page_bytes = 256;
    options.layout.narrow_codec = options.layout.wide_codec = "lz4";
    options.layout.block_bytes = options.layout.cluster_bytes = 4 << 10;
    options.write.extent_bytes = 4 << 10;
    options.write.staging = {4 << 10, 3, 8, 64 << 10};
    options.commit.flush_interval_ns = 3600'000'000'000;
    options.commit.allocate_ahead_bytes = 1 << 20;
    return options;
}

void append_rows(Producer& producer, std::uint64_t count) {
    std::vector<std::int64_t> ids(count);
    std::iota(ids.begin(), ids.end(), 0);
    std::vector<std::uint64_t> const lengths(count, 2);
    std::vector<std::uint16_t> const items(2 * count, 7);
    producer.append(count, std::vector<std::span<std::byte const>>{std::as_bytes(std::span(ids)),
                                                                   std::as_bytes(std::span(lengths)),
                                                                   std::as_bytes(std::span(items))});
}

// A run whose processes are dead: rows in pages and in memory alone, units that are committed and one that is open.
class DeadRun {
  public:
    explicit DeadRun(std::string const& ending) : path_(fmt::format("/dev/shm/fuzz-{}-memory{}", ::getpid(), ending)) {
        auto const child = ::fork();
        if (child == 0) {
            live(path_);
            ::_exit(0); // as a killed process leaves it
        }
        int status = 0;
        if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) std::abort();
        auto const id = RunPlace(path_).run_id().value();
        for (auto const& name : base::SharedMemory::list(ledger_name(id))) keep(std::string(kMemory) + name);
        keep(path_);
        keep(journal_path(path_));
        if (memory_.size() < 3) std::abort(); // ledger, units, page buffers
    }
    ~DeadRun() {
        for (auto const& [path, kept] : files_) ::unlink(path.c_str());
    }
    DeadRun(DeadRun const&) = delete;
    DeadRun& operator=(DeadRun const&) = delete;

    std::string const& path() const { return path_; }
    void put_back() const {
        for (auto const& [path, kept] : files_) kept.put(path);
    }
    void change(std::span<std::byte const> changes) const {
        while (changes.size() >= 5) {
            auto const& path = memory_[std::to_integer<std::size_t>(changes[0]) % memory_.size()];
            auto const& bytes = files_.at(path).bytes;
            std::uint16_t place = 0;
            std::memcpy(&place, changes.data() + 1, 2);
            auto const at = place % std::min(bytes.size(), kChangedBytes);
            auto const count =
                std::min({std::to_integer<std::size_t>(changes[3]) % 8 + 1, changes.size() - 4, bytes.size() - at});
            auto const file = base::open_file(path, O_RDWR);
            if (::pwrite(file.get(), changes.data() + 4, count, static_cast<off_t>(at)) < 0) std::abort();
            changes = changes.subspan(4 + count);
        }
    }

  private:
    static void live(std::string const& path) {
        auto const writer = Writer::create(path, schema(), options());
        auto producer = writer->producer("t");
        append_rows(producer, kRows);
        for (std::int64_t const key : {1, 2, 3}) {
            auto* const unit = new WorkUnit(writer->work_unit(key, "summary")); // never ends, where it is not committed
            append_rows((*unit)["t"], 20);
            if (key == 3) ::_exit(0);
            unit->commit();
            delete unit;
        }
    }
    void keep(std::string const& path) {
        files_.emplace(path, bytes_of(path));
        if (path.starts_with(std::string(kMemory) + "thalweg-")) memory_.push_back(path);
    }

    std::string path_;
    std::map<std::string, Kept> files_;
    std::vector<std::string> memory_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    static DeadRun const hdf5(".h5"), rntuple(".root");
    if (size == 0) return 0;
    auto const& run = data[0] % 2 == 0 ? hdf5 : rntuple;
    run.put_back();
    run.change(std::as_bytes(std::span(data, size)).subspan(1));
    try {
        recover(run.path());
    } catch (base::Error const&) {
        return 0;
    }
    auto const reader = Reader::open(run.path());
    for (std::size_t column = 0; column < reader->tables()[0].columns.size(); ++column) {
        auto const& facts = reader->head().columns[0][column];
        auto const& pages = reader->tables()[0].columns[column].pages;
        auto const items = pages.empty() ? 0 : pages.back().first + pages.back().count;
        Bytes out(items * (facts.role == model::Column::Role::lengths ? 8 : facts.item_bytes()));
        reader->read(0, column, {0, items}, out, {.threads = 1});
    }
    return 0;
}
