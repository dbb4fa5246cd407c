#include "thalweg/checkpoint/saving.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/process.h"
#include "thalweg/base/random.h"
#include "thalweg/base/units.h"
#include "thalweg/checkpoint/copies.h"
#include "thalweg/checkpoint/declare.h"
#include "thalweg/checkpoint/save_ending.h"
#include "thalweg/codec/codec.h"
#include "thalweg/model/schema.h"
#include "thalweg/storage/probe.h"
#include "thalweg/trace/activity.h"

namespace thalweg::checkpoint {
namespace {

std::uint64_t blocks_of(std::uint64_t bytes) { return base::round_up(bytes, base::kBlockBytes); }

bool has_free_place(ArrayPlan const& plan) { return plan.layout != Layout::contiguous; }

// Places contiguous arrays first, each at a block. Returns the end of the last one.
std::uint64_t place_contiguous(std::vector<ArrayPlan>& plans) {
    std::uint64_t at = base::kBlockBytes;
    for (auto& plan : plans) {
        if (has_free_place(plan)) continue;
        plan.base = at;
        at += blocks_of(plan.bytes());
    }
    return at;
}

std::uint64_t bytes_of(std::vector<Array> const& arrays) {
    std::uint64_t bytes = 0;
    for (auto const& array : arrays) {
        for (auto const& block : array.blocks) bytes += block.box.count() * model::size_bytes(array.scalar);
    }
    return bytes;
}

// Returns true if a sync by one process of a machine covers what all its processes have written: the file is one thing
// of one kernel. File systems that are not known (FUSE) or that have servers do not promise that.
bool is_synced_by_one(std::string const& path) {
    constexpr std::array kLocal{"ext4", "xfs", "btrfs", "f2fs", "tmpfs"};
    return std::ranges::count(kLocal, storage::file_system_of(path)) > 0;
}

// Returns a text that is equal on ranks that have the very same file, of one kernel, and empty if each rank syncs
// itself. Another mount of the same folder (by FUSE, NFS or an overlay) has another device.
std::string what_one_syncs(std::string const& path) {
    struct stat status {};
    if (!is_synced_by_one(path) || ::stat(path.c_str(), &status) != 0) return "";
    return fmt::format("{}:{}:{}", base::boot_id(), status.st_dev, status.st_ino);
}

Json attributes_as_json(model::Attributes const& attributes) {
    return Json::parse(model::to_json({.attributes = attributes})).value("attributes", Json::object());
}

// Refuses attributes that would be lost, since the file has those of rank 0. A rank may give none.
void check_same_attributes(std::string const& path, std::vector<Json> const& said) {
    auto const& kept = said.front().at("attributes");
    for (std::size_t rank = 1; rank < said.size(); ++rank) {
        for (auto const& [name, value] : said[rank].at("attributes").items()) {
            if (auto const found = kept.find(name); found != kept.end() && *found == value) continue;
            base::fail_usage({fmt::format("{} cannot be saved", path),
                              fmt::format("the attribute '{}' of rank {} differs from that of rank 0", name, rank),
                              "give the same attributes on all ranks, or on rank 0 alone"});
        }
    }
}

void check_same_keep(std::string const& path, std::vector<Json> const& said) {
    for (std::size_t rank = 1; rank < said.size(); ++rank) {
        auto const &own = said[rank].at("keep"), &first = said[0].at("keep");
        if (own == first) continue;
        base::fail_usage({fmt::format("{} cannot be saved", path),
                          fmt::format("rank 0 says keep={}, and rank {} says keep={}", first.dump(), rank, own.dump()),
                          "give the same on all ranks"});
    }
}

std::string save_problem(std::string const& path) { return path + " cannot be saved"; }

} // namespace

void refuse_save(Communicator& comm, std::string const& path, std::exception_ptr const& why) {
    refuse(comm, save_problem(path), why);
}

Saving::Saving(std::string path, std::vector<Array> arrays, Communicator& comm, SaveOptions options)
    : path_(std::move(path)), problem_(save_problem(path_)), options_(std::move(options)) {
    auto const plan = agree(
        comm, problem_,
        [&] {
            auto arrays_said = declare(arrays);
            return Json{{"path", said_path(path_)},
                        {"keep", options_.keep},
                        {"arrays", std::move(arrays_said)},
                        {"attributes", attributes_as_json(options_.attributes)},
                        {"may_copy", bytes_of(arrays) <= options_.most_copy_bytes}};
        },
        [&](std::vector<Json> const& said) { return begin(said); });
    attempt([&] {
        open(plan);
        add_parts(arrays);
    });
}

Saving::~Saving() = default;

template <class Step> void Saving::attempt(Step const& step) {
    if (failure_) return;
    try {
        step();
    } catch (...) {
        failure_ = std::current_exception();
    }
}

Json Saving::begin(std::vector<Json> const& said) {
    std::vector<Json> declarations, paths;
    for (auto const& each : said) paths.push_back(each.at("path"));
    check_same_path(paths);
    check_same_keep(path_, said);
    model::check_attributes(path_, options_.attributes);
    check_same_attributes(path_, said);
    for (auto const& each : said) {
        declarations.push_back(each.at("arrays"));
        may_copy_ = may_copy_ && each.at("may_copy").get<bool>();
    }
    auto plans = plan_arrays(declarations);
    auto const free_begin = place_contiguous(plans);
    id_ = fmt::format("{:016x}{:016x}", base::random_word(), base::random_word());
    new_file_ = std::make_unique<NewFile>(path_, id_, options_.keep);
    // A full disk shows here, and writes within what is allocated do not wait for each other.
    auto bytes = free_begin;
    for (auto const& plan : plans) {
        if (has_free_place(plan) && plan.codec == "none") bytes += blocks_of(plan.bytes());
    }
    storage::open_file_storage(new_file_->path(), storage::OpenMode::read_write, storage::Engine::posix)
        ->reserve(0, bytes);
    return {{"id", id_},
            {"file", new_file_->path()},
            {"arrays", plans},
            {"free_begin", free_begin},
            {"may_copy", may_copy_},
            {"synced_on", what_one_syncs(new_file_->path())}};
}

void Saving::open(Json const& plan) {
    plan.at("id").get_to(id_);
    plan.at("arrays").get_to(plans_);
    plan.at("free_begin").get_to(free_begin_);
    plan.at("may_copy").get_to(may_copy_);
    auto const synced_on = plan.at("synced_on").get<std::string>();
    auto const path = plan.at("file").get<std::string>();
    syncs_ = synced_on.empty() || synced_on != what_one_syncs(path);
    file_ = storage::open_file_storage(path, storage::OpenMode::read_write, options_.engine);
}

void Saving::add_parts(std::vector<Array> const& arrays) {
    for (std::size_t i = 0; i < plans_.size(); ++i) {
        auto const array = std::ranges::find(arrays, plans_[i].name, &Array::name);
        for (auto const& block : array->blocks) {
            if (block.box.count() == 0) continue;
            auto* const data = const_cast<std::byte*>(static_cast<std::byte const*>(block.data)); // only read
            Memory memory{block.box, data, block.strides};
            if (memory.strides.empty()) memory.strides = packed_strides(block.box.shape, plans_[i].element_bytes());
            parts_.push_back({i, part_of(plans_[i], block.box), std::move(memory), {}});
        }
    }
}

void Saving::copy_blocks(base::AlignedBuffer& memory) {
    attempt([&] { copy_parts(plans_, parts_, memory); });
}

void Saving::encode() {
    attempt([&] {
        for (auto& part : parts_) encode_part(part);
    });
}

// Pages that do not shrink are stored as they are.
void Saving::encode_part(OwnPart& own) {
    auto const& plan = plans_[own.array];
    if (!has_free_place(plan)) return;
    std::unique_ptr<codec::Codec> codec;
    Bytes raw, encoded;
    if (plan.codec != "none") codec = codec::make_codec(codec::Spec::parse(plan.codec), plan.element_bytes());
    own.encoded.resize(own.part.pages.size());
    for (std::size_t i = 0; i < own.part.pages.size(); ++i) {
        auto& page = own.part.pages[i];
        auto const& shape = own.shape_of(page);
        page.stored_bytes = count_of(shape) * plan.element_bytes();
        if (!codec) continue;
        raw.resize(page.stored_bytes);
        encoded.resize(codec->bound_bytes(raw.size()));
        Overlap(page.box, shape, own.memory, plan.element_bytes()).to_page(0, raw);
        trace::Traced traced(trace::Activity::encode_page, path_.c_str(), raw.size());
        auto const size_bytes = codec->encode(raw, encoded);
        traced.set_result(size_bytes == 0 ? raw.size() : size_bytes);
        if (size_bytes == 0) continue;
        page.encoded = true;
        page.stored_bytes = size_bytes;
        own.encoded[i].assign(encoded.begin(), encoded.begin() + static_cast<std::ptrdiff_t>(size_bytes));
    }
}

void Saving::place(Communicator& comm) {
    if (std::ranges::none_of(plans_, has_free_place)) return; // as all ranks know
    std::uint64_t bytes = 0;
    for (auto const& own : parts_) {
        if (!has_free_place(plans_[own.array])) continue;
        for (auto const& page : own.part.pages) bytes += blocks_of(page.stored_bytes);
    }
    auto at = free_begin_ + comm.exclusive_sum(failure_ ? 0 : bytes);
    attempt([&] { file_->reserve(at, bytes); });
    for (auto& own : parts_) {
        if (!has_free_place(plans_[own.array])) continue;
        for (auto& page : own.part.pages) {
            page.offset = at;
            at += blocks_of(page.stored_bytes);
        }
    }
}

void Saving::write() {
    attempt([&] {
        writer_ = std::make_unique<PageWriter>(*file_, plans_);
        writer_->write(parts_);
    });
    if (syncs_) end_writes(); // at once: all machines sync at the same time
}

void Saving::end_writes() {
    if (!writer_ || have_ended_) return;
    have_ended_ = true;
    attempt([&] {
        writer_->finish();
        if (syncs_) file_->sync();
    });
    if (failure_) writer_.reset(); // which waits for what is on its way
}

Json Saving::facts() {
    if (failure_) std::rethrow_exception(failure_);
    auto parts = Json::array();
    for (auto const& own : parts_) {
        auto checksums = Json::array();
        for (auto const& page : own.part.pages) checksums.push_back(page.checksums);
        parts.push_back({{"array", own.array}, {"part", own.part}, {"checksums", std::move(checksums)}});
    }
    auto edges = Json::array();
    for (auto const& edge : writer_->edges()) {
        auto const* const bytes = reinterpret_cast<std::uint8_t const*>(edge.bytes.data());
        edges.push_back({edge.offset, Json::binary({bytes, bytes + edge.bytes.size()})});
    }
    return {{"parts", std::move(parts)}, {"edges", std::move(edges)}};
}

Json Saving::write_metadata(std::vector<Json> const& facts) {
    if (failure_) std::rethrow_exception(failure_);
    write_edges(*file_, facts);
    Record const record{id_, options_.attributes, gather_arrays(plans_, facts)};
    THALWEG_ASSERT(end_of_pages(record) == end_of_places(record.arrays),
                   "places of all ranks end where the pages of all ranks end");
    ending_ = std::make_unique<SaveEnding>(*file_, record);
    return nullptr;
}

// Contiguous arrays end at `free_begin_`; behind that each page of a rank begins at a block.
std::uint64_t Saving::end_of_places(std::vector<StoredArray> const& arrays) const {
    auto end = free_begin_;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        if (!has_free_place(plans_[i])) continue;
        for (auto const& part : arrays[i].parts) {
            for (auto const& page : part.pages) end += blocks_of(page.stored_bytes);
        }
    }
    return end;
}

Json Saving::publish() {
    THALWEG_ASSERT(have_ended_, "a checkpoint gets its name after its last write has ended");
    ending_->finish();
    new_file_->publish();
    return {{"engine", file_->engine()}, {"file_bytes", ending_->file_bytes()}, {"problems", new_file_->problems()}};
}

// Rank 0 writes the metadata while the last writes of all ranks are on their way. Its sync at the end covers all that
// was written on its machine; other machines have synced before.
SaveReport Saving::agree_on_end(Communicator& comm) {
    std::exception_ptr refused;
    try {
        agree(
            comm, problem_, [&] { return facts(); }, [&](std::vector<Json> const& all) { return write_metadata(all); });
    } catch (...) {
        refused = std::current_exception();
    }
    end_writes();
    if (refused) std::rethrow_exception(refused);
    auto const answer = agree(
        comm, problem_,
        [&] {
            if (failure_) std::rethrow_exception(failure_);
            return Json();
        },
        [&](std::vector<Json> const&) { return publish(); });
    SaveReport report{path_, id_, answer.at("engine"), 0, answer.at("file_bytes"), answer.at("problems")};
    for (auto const& plan : plans_) report.bytes += plan.bytes();
    return report;
}

SaveReport Saving::finish(Communicator& comm) {
    try {
        auto report = agree_on_end(comm);
        let_go();
        return report;
    } catch (...) {
        let_go();
        throw;
    }
}

// What refers to this may live on: an exception that is kept, or an object of Python.
void Saving::let_go() {
    writer_.reset(); // waits for what is on its way
    parts_.clear();
    ending_.reset();
    file_.reset();
    new_file_.reset();
}

} // namespace thalweg::checkpoint
