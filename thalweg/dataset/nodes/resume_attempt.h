// How the nodes of a run find each other again, after all processes that wrote it have died.
//
//     node 1                                       every other node
//       takes over what was left on its machine      takes over what was left on its machine
//       announces an attempt: `resuming`   ──────▶   announces that it has returned for it, or why it cannot
//       waits for all (wait_for_others)              waits for `resumed` (return_and_wait)
//       goes on with the run, and tells all
//       what they have to know: `resumed`  ──────▶   goes on
//
// An attempt has a random number, which all that is said in it carries: what was said in an earlier one counts for
// nothing, except that a refusal is told. Any node that dies meanwhile can be started again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/dataset/begin/resumed_run.h"
#include "thalweg/dataset/nodes/meeting.h"

namespace thalweg::dataset {

// One attempt of the first node to resume the run. If it fails, the others have to be told.
class ResumeAttempt {
  public:
    // Announces it.
    ResumeAttempt(PartsFolder parts, std::uint32_t nodes);

    // Returns when all others have returned: how many bytes the journal of each has, as its node says. Throws
    // base::UsageError naming those that have not, or why one cannot.
    std::vector<std::uint64_t> wait_for_others(std::string const& path, NodesOptions const& options) const;
    void tell(ResumedRun const& run) const;
    void refuse(std::string const& why) const noexcept;

  private:
    void announce(std::string const& text) const;

    PartsFolder parts_;
    std::uint32_t nodes_;
    std::string attempt_;
};

// Returns what the first node has told in its last attempt.
std::optional<std::string> last_told(PartsFolder const& parts);
// Says that this node, which is not the first one, has taken over what was left on its machine, with so many bytes of
// its journal, and waits. Throws base::UsageError if the first node refuses, or does not come. `told_before`: when this
// one began; a refusal since then is for it, too.
ResumedRun return_and_wait(PartsFolder const& parts, std::uint32_t node, std::optional<std::string> const& told_before,
                           Deadline& deadline, std::uint64_t journal_bytes = 0);
// Says that it cannot: the first node refuses then. Returns when that has heard it, or a few seconds later.
void announce_no_return(PartsFolder const& parts, std::uint32_t node, std::string const& why,
                        Deadline& deadline) noexcept;

} // namespace thalweg::dataset
