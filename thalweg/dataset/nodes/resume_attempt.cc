#include "thalweg/dataset/nodes/resume_attempt.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/base/process.h"
#include "thalweg/base/random.h"

namespace thalweg::dataset {
namespace {

using Json = nlohmann::json;

// Keys that are texts may have any bytes.
Json to_json(UnitKey const& key) {
    if (key.is_integer) return key.integer;
    return std::vector<std::uint8_t>(key.text.begin(), key.text.end());
}

UnitKey key_from(Json const& json) {
    if (json.is_number()) return UnitKey(json.get<std::int64_t>());
    auto const bytes = json.get<std::vector<std::uint8_t>>();
    return UnitKey(std::string(bytes.begin(), bytes.end()));
}

// An announcement is a line: the attempt, and what is said in it.
std::optional<std::string> said_in(std::string const& attempt, std::optional<std::string> const& line) {
    if (!line || !line->starts_with(attempt)) return std::nullopt;
    return line->substr(std::min(line->size(), attempt.size() + 1));
}

constexpr std::uint64_t kUntilHeardNs = 5'000'000'000;
constexpr std::string_view kRefused = "refused: ", kCannot = "cannot: ";

std::optional<std::string> refusal_in(std::optional<std::string> const& told) {
    auto const text = told ? told->find(' ') : std::string::npos;
    if (text == std::string::npos || told->substr(text + 1, kRefused.size()) != kRefused) return std::nullopt;
    return told->substr(text + 1 + kRefused.size());
}

// Returns 0 if the text is no number.
std::uint64_t number_in(std::string const& text) {
    std::uint64_t number = 0;
    auto const* const end = text.data() + text.size();
    auto const [stop, wrong] = std::from_chars(text.data(), end, number);
    return wrong == std::errc{} && stop == end ? number : 0;
}

void announce_again(PartsFolder const& parts, std::string const& name, std::string const& text) {
    base::remove_file(parts.path() + "/" + name);
    parts.announce(name, text);
}

} // namespace

ResumeAttempt::ResumeAttempt(PartsFolder parts, std::uint32_t nodes)
    : parts_(std::move(parts)), nodes_(nodes), attempt_(fmt::format("{:016x}", base::random_word())) {
    announce_again(parts_, kResuming, attempt_);
}

std::vector<std::uint64_t> ResumeAttempt::wait_for_others(std::string const& path, NodesOptions const& options) const {
    Deadline deadline(options.timeout_ns, options.while_waiting);
    deadline.is_of(nodes_);
    std::vector<bool> has_returned(nodes_, false);
    has_returned[0] = true;
    std::vector<std::uint64_t> journal_bytes(nodes_);
    while (true) {
        std::string missing;
        for (std::uint32_t node = 0; node < nodes_; ++node) {
            if (has_returned[node]) continue;
            auto const said = said_in(attempt_, parts_.announced(returned_name(node)));
            if (said && said->starts_with(kCannot)) {
                base::fail_usage({fmt::format("cannot resume the run at {}", path),
                                  fmt::format("{}: {}", name_of_node(node), said->substr(kCannot.size()))});
            }
            has_returned[node] = said.has_value();
            if (said) journal_bytes[node] = number_in(*said);
            if (!said) missing += (missing.empty() ? "" : ", ") + name_of_node(node);
        }
        if (missing.empty()) return journal_bytes;
        if (deadline.pause()) continue;
        base::fail_usage(
            {fmt::format("cannot resume the run at {}", path),
             fmt::format("{} did not return within {:g} s", missing, static_cast<double>(options.timeout_ns) / 1e9),
             "start all nodes again, each on its machine; or recover the run, and begin a new one"});
    }
}

void ResumeAttempt::announce(std::string const& text) const {
    announce_again(parts_, kResumed, attempt_ + " " + text);
    parts_.sync();
}

void ResumeAttempt::tell(ResumedRun const& run) const {
    Json json{{"knobs", run.knobs}, {"next_producers", run.next_producers}, {"units", run.units}};
    json["keys"] = Json::array();
    for (auto const& key : run.keys) json["keys"].push_back(to_json(key));
    announce(json.dump());
}

void ResumeAttempt::refuse(std::string const& why) const noexcept try {
    announce(std::string(kRefused) + why);
} catch (...) {
    // They notice that the first node does not come.
}

namespace {

ResumedRun resumed_run_from(std::string const& text) {
    auto const json = Json::parse(text);
    ResumedRun run{json.at("knobs"), {}, json.at("next_producers"), json.at("units")};
    for (auto const& key : json.at("keys")) run.keys.push_back(key_from(key));
    return run;
}

} // namespace

std::optional<std::string> last_told(PartsFolder const& parts) { return parts.announced(kResumed); }

// What was told in an attempt is for those nodes alone that had returned for it, except for a refusal: all else is from
// an earlier time.
ResumedRun return_and_wait(PartsFolder const& parts, std::uint32_t node, std::optional<std::string> const& told_before,
                           Deadline& deadline, std::uint64_t journal_bytes) {
    auto const problem = fmt::format("cannot resume the run as {}", name_of_node(node));
    std::optional<std::string> attempt;
    while (true) {
        auto const now = parts.announced(kResuming);
        if (now && now != attempt && !said_in(*now, parts.announced(kResumed))) {
            attempt = now;
            announce_again(parts, returned_name(node), fmt::format("{} {}", *attempt, journal_bytes));
        }
        auto const told = last_told(parts);
        auto const refusal = refusal_in(told);
        if (refusal && told != told_before) base::fail_usage({problem, "node 1 refuses: " + *refusal});
        auto const mine = attempt ? said_in(*attempt, told) : std::nullopt;
        if (mine && !refusal) return resumed_run_from(*mine);
        if (deadline.pause()) continue;
        base::fail_usage({problem,
                          "node 1 has not resumed it in time" +
                              (refusal ? fmt::format("; what it said when it tried before: {}", *refusal) : ""),
                          "start all nodes again, each on its machine"});
    }
}

// The first node may come a little later, or try once more.
void announce_no_return(PartsFolder const& parts, std::uint32_t node, std::string const& why,
                        Deadline& deadline) noexcept try {
    deadline.shorten(kUntilHeardNs);
    std::optional<std::string> attempt;
    do {
        auto const now = parts.announced(kResuming);
        if (now && now != attempt && !said_in(*now, parts.announced(kResumed))) {
            attempt = now;
            announce_again(parts, returned_name(node),
                           fmt::format("{} {}{} ({})", *attempt, kCannot, why, base::host_name()));
        }
        if (attempt && said_in(*attempt, parts.announced(kResumed))) return;
    } while (deadline.pause());
} catch (...) {
    // The first node notices that this one does not come.
}

} // namespace thalweg::dataset
