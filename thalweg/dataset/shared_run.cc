#include "thalweg/dataset/shared_run.h"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "thalweg/base/assert.h"
#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/dataset/nodes/attached_part.h"
#include "thalweg/ranks/agreement.h"

namespace thalweg::dataset {
namespace {

using ranks::Json;

struct Places {
    std::vector<int> first_ranks;     // of each machine, in their order: nodes of the run
    std::vector<std::uint32_t> nodes; // of each rank
};

Places places_of(std::vector<Json> const& said) {
    Places places;
    for (auto const& each : said) {
        if (each.at("path") != said[0].at("path")) {
            base::fail_usage({fmt::format("ranks 0 and {} do not write the same file", &each - said.data()),
                              fmt::format("{} and {}", said[0].at("path").dump(), each.at("path").dump()),
                              "give the same path on all ranks"});
        }
        auto const first = each.at("first").get<int>();
        if (std::ranges::find(places.first_ranks, first) == places.first_ranks.end()) {
            places.first_ranks.push_back(first);
        }
        auto const at = std::ranges::find(places.first_ranks, first) - places.first_ranks.begin();
        places.nodes.push_back(static_cast<std::uint32_t>(at));
    }
    return places;
}

Json nothing(std::vector<Json> const&) { return nullptr; }

// If ranks cannot go on together, this is the head of the error on all of them.
std::string problem_of(std::string const& path) { return path + " cannot be written by all ranks"; }

// The same for equal schemas; null for none, which only a resumed run may have.
Json digest_of(std::optional<model::Schema> const& schema) {
    if (!schema) return nullptr;
    auto const text = model::to_json(*schema);
    return base::xxh3(std::as_bytes(std::span(text)));
}

void check_schemas(std::vector<Json> const& said) {
    for (auto const& each : said) {
        auto const &own = each.at("schema"), &first = said[0].at("schema");
        if (own == first || own.is_null() || first.is_null()) continue;
        base::fail_usage({fmt::format("rank {} gives another schema than rank 0", &each - said.data()), "",
                          "give the same one on all ranks"});
    }
}

} // namespace

SharedRun::SharedRun(ranks::Communicator& comm, std::string path)
    : comm_(comm), path_(std::move(path)), problem_(problem_of(path_)) {}

SharedRun::~SharedRun() { abandon("the run was not closed"); }

std::unique_ptr<SharedRun> SharedRun::create(ranks::Communicator& comm, std::string const& path, model::Schema schema,
                                             CreateOptions options, std::map<std::string, std::string> metadata) {
    return begun(comm, path, {std::move(schema), std::move(options), std::move(metadata)});
}

std::unique_ptr<SharedRun> SharedRun::resume(ranks::Communicator& comm, std::string const& path,
                                             std::optional<model::Schema> schema, CreateOptions options) {
    return begun(comm, path, {std::move(schema), std::move(options), {}, true});
}

std::unique_ptr<SharedRun> SharedRun::begun(ranks::Communicator& comm, std::string const& path, Beginning beginning) {
    std::unique_ptr<SharedRun> run(new SharedRun(comm, path));
    try {
        run->begin(std::move(beginning));
    } catch (...) {
        run->ended_ = true; // as all ranks know
        throw;
    }
    return run;
}

void SharedRun::refuse(ranks::Communicator& comm, std::string const& path, std::exception_ptr const& why) {
    ranks::agree(
        comm, problem_of(path),
        [&]() -> Json {
            static_cast<void>(comm.first_rank_here()); // which the others ask for, and all ranks have to
            std::rethrow_exception(why);
        },
        nothing);
    std::rethrow_exception(why); // agree has thrown it
}

void SharedRun::begin(Beginning beginning) {
    auto const schema = beginning.schema;
    auto const plan = ranks::agree(
        comm_, problem_,
        [&] {
            return Json{{"path", path_}, {"first", comm_.first_rank_here()}, {"schema", digest_of(schema)}};
        },
        [](std::vector<Json> const& said) {
            auto const places = places_of(said);
            check_schemas(said);
            return Json{{"nodes", places.nodes}, {"first", places.first_ranks}};
        });
    auto const node = plan.at("nodes").at(static_cast<std::size_t>(comm_.rank())).get<std::uint32_t>();
    auto const firsts = plan.at("first").get<std::vector<int>>();
    auto const while_waiting = beginning.options.nodes.while_waiting; // this rank's
    bool const is_first = firsts[node] == comm_.rank();
    auto const handles = ranks::agree(
        comm_, problem_,
        [&] {
            if (!is_first) return Json();
            begin_node(std::move(beginning), node, static_cast<std::uint32_t>(firsts.size()));
            return Json(writer_->handle());
        },
        [](std::vector<Json> const& said) { return Json(said); });
    together([&] {
        if (!is_first)
            attach_to(handles.at(static_cast<std::size_t>(firsts[node])).get<std::string>(), schema, while_waiting);
    });
}

void SharedRun::begin_node(Beginning&& beginning, std::uint32_t node, std::uint32_t nodes) {
    auto& [schema, options, metadata, resumes] = beginning;
    options.shared = true;
    options.nodes.nodes = nodes;
    if (nodes == 1) options.nodes.rules.keys_together = 0; // one node alone shares them with no other
    if (node == 0) {
        writer_ = resumes ? Writer::resume(path_, schema, options)
                          : Writer::create(path_, std::move(*schema), options, std::move(metadata));
        return;
    }
    JoinOptions joining;
    static_cast<NodesOptions&>(joining) = options.nodes;
    joining.schema = std::move(schema);
    joining.resume = resumes;
    writer_ = Writer::join(path_, node, joining);
}

void SharedRun::attach_to(std::string const& handle, std::optional<model::Schema> const& schema,
                          std::function<void()> const& while_waiting) {
    run_ = attach_to_part(handle, {}, while_waiting);
    if (schema && run_->head.schema != *schema) {
        base::fail_usage({path_ + " is written with another schema", "the lowest rank of this machine has given it",
                          "give the same schema on all ranks"});
    }
    units_ = std::make_unique<WorkUnits>(run_);
}

Producer SharedRun::producer(std::string const& table) {
    if (writer_) return writer_->producer(table);
    return Producer(run_, run_->head.schema.table_index(table));
}

WorkUnit SharedRun::work_unit(UnitKey const& key, std::string summary) {
    return work_units().begin(key, std::move(summary));
}

template <class Work> void SharedRun::together(Work const& work) {
    ranks::agree(
        comm_, problem_,
        [&] {
            work();
            return Json();
        },
        nothing);
}

std::optional<CompleteResult> SharedRun::close(std::uint64_t timeout_ns) {
    if (std::exchange(ended_, true)) {
        base::fail_usage({path_ + " is closed already", "", "close it once, on all ranks"});
    }
    THALWEG_ASSERT((writer_ == nullptr) == (run_ != nullptr), "a rank has created its node, or attached to it");
    std::optional<CompleteResult> result;
    try {
        together([] {}); // no rank has given up
        together([&] {
            if (units_) units_->finish();
        });
        together([&] {
            if (writer_) result = writer_->close(timeout_ns);
        });
    } catch (...) {
        if (writer_) writer_->abandon();
        throw;
    }
    return result;
}

void SharedRun::abandon(std::string const& reason) noexcept {
    abandon(std::make_exception_ptr(base::SystemError(reason, ECANCELED)));
}

void SharedRun::abandon(std::exception_ptr const& why) noexcept {
    if (std::exchange(ended_, true)) return;
    try {
        if (units_) units_->abandon();
        if (writer_) writer_->abandon();
        together([&] { std::rethrow_exception(why); });
    } catch (...) {
        // as the others are told
    }
}

} // namespace thalweg::dataset
