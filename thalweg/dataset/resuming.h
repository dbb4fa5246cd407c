// How the nodes of a run find each other again, after everybody who wrote it has died. The first one announces that it
// resumes the run; each of the others takes over what was left on its machine, and announces that it has returned; then
// the first one tells all what they have to know. Whoever dies meanwhile can be started again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/dataset/complete/facts.h"
#include "thalweg/dataset/meeting.h"

namespace thalweg::dataset {

// Of producers, in the numbers that they have among those of all nodes.
struct ProducersOfNode {
    std::uint32_t first = 0;
    std::uint32_t count = ~std::uint32_t{0};

    bool has(std::uint32_t number) const { return number >= first && number - first < count; }
};

// One for each node; of a run that has one, all.
std::vector<ProducersOfNode> producers_of_nodes(Gathered const& gathered);

// What each node has to know.
struct ResumedRun {
    std::map<std::string, std::string> knobs;
    std::vector<UnitKey> keys;                 // of the work units that count, on whichever node
    std::vector<std::uint32_t> next_producers; // by node: no number from there on was ever used
    std::vector<std::uint64_t> units;          // by node: so many of the work units are its own
};
ResumedRun resumed_run(Gathered const& gathered);

// One attempt of the first node to resume the run. Where it fails, the others have to be told.
class Resuming {
  public:
    // Announces it.
    Resuming(PartsFolder parts, std::uint32_t nodes);

    // Returns when all others have returned. Throws base::UsageError naming those who have not, or why one cannot.
    void wait_for_others(std::string const& path, NodesOptions const& options) const;
    void tell(ResumedRun const& run) const;
    void refuse(std::string const& why) const noexcept;

  private:
    void announce(std::string const& text) const;

    PartsFolder parts_;
    std::uint32_t nodes_;
    std::string attempt_;
};

// What the first node has told in its last attempt.
std::optional<std::string> last_told(PartsFolder const& parts);
// Of another node, which has taken over what was left on its machine: says so, and waits. Throws base::UsageError where
// the first node refuses, or does not come. `told_before`: when this one began; a refusal since then is for it, too.
ResumedRun return_and_wait(PartsFolder const& parts, std::uint32_t node, std::optional<std::string> const& told_before,
                           Deadline& deadline);
// That it cannot: the first node refuses then. Returns when that has heard it, or a few seconds later.
void announce_no_return(PartsFolder const& parts, std::uint32_t node, std::string const& why,
                        Deadline& deadline) noexcept;

} // namespace thalweg::dataset
