#include "thalweg/ranks/agreement.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/utf8.h"

namespace thalweg::ranks {
namespace {

Bytes to_bytes(Json const& json) {
    auto const packed = Json::to_cbor(json);
    auto const* const begin = reinterpret_cast<std::byte const*>(packed.data());
    return {begin, begin + packed.size()};
}

Json to_json(Bytes const& bytes) {
    auto const* const begin = reinterpret_cast<std::uint8_t const*>(bytes.data());
    return Json::from_cbor(begin, begin + bytes.size());
}

Json failure(char const* kind, char const* text, int code = 0) {
    return {{"failed", kind}, {"text", base::readable(text)}, {"code", code}};
}

// Returns what `work` returns, under "said"; or how it failed.
Json attempt(std::function<Json()> const& work) {
    try {
        return {{"said", work()}};
    } catch (base::UsageError const& error) {
        return failure("usage", error.what());
    } catch (base::DataError const& error) {
        return failure("data", error.what());
    } catch (base::SystemError const& error) {
        return failure("system", error.what(), error.code);
    } catch (std::bad_alloc const&) {
        return failure("system", "there is no memory left", ENOMEM);
    } catch (std::exception const& error) {
        return failure("system", error.what());
    }
}

[[noreturn]] void raise(Json const& answer) {
    auto const problem = answer.at("problem").get<std::string>();
    auto why = answer.at("text").get<std::string>();
    if (answer.contains("rank")) why = fmt::format("rank {}: {}", answer.at("rank").get<int>(), why);
    auto const kind = answer.at("failed").get<std::string>();
    if (kind == "usage") base::fail_usage({problem, why});
    if (kind == "data") base::fail_data({problem, why});
    base::fail_system({problem, why}, answer.at("code").get<int>());
}

Json conclude_all(std::vector<Bytes> const& gathered, std::function<Json(std::vector<Json> const&)> const& conclude) {
    std::vector<Json> all;
    for (auto const& bytes : gathered) {
        auto said = to_json(bytes);
        if (said.contains("failed")) {
            if (gathered.size() > 1) said["rank"] = all.size();
            return said;
        }
        all.push_back(std::move(said["said"]));
    }
    return attempt([&] { return conclude(all); });
}

} // namespace

Json agree(Communicator& comm, std::string const& problem, std::function<Json()> const& own,
           std::function<Json(std::vector<Json> const&)> const& conclude) {
    auto const gathered = comm.gather(to_bytes(attempt(own)));
    Bytes concluded;
    THALWEG_ASSERT(comm.rank() != 0 || gathered.size() == static_cast<std::size_t>(comm.size()),
                   "rank 0 hears what every rank said");
    if (comm.rank() == 0) {
        auto conclusion = conclude_all(gathered, conclude);
        if (conclusion.contains("failed")) conclusion["problem"] = base::readable(problem); // one text on all ranks
        concluded = to_bytes(conclusion);
    }
    auto answer = to_json(comm.broadcast(concluded));
    if (answer.contains("failed")) raise(answer);
    return std::move(answer["said"]);
}

void refuse(Communicator& comm, std::string const& problem, std::exception_ptr const& why) {
    agree(
        comm, problem, [&]() -> Json { std::rethrow_exception(why); }, [](auto const&) { return Json(); });
    std::rethrow_exception(why); // agree has thrown it
}

} // namespace thalweg::ranks
