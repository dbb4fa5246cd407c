// The one table of knobs: what can be tuned, under which name, in which unit and range, and what it does. Values come
// and go as texts ("64 MiB", "500 ms", "auto"): from the command line, from Python, to the file and to the reader.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "thalweg/tuning/options.h"

namespace thalweg::tuning {

enum class KnobKind : std::uint8_t { size, duration, count, power_of_two, share, flag, engine, codec, folder };

// The processes that act on a knob.
enum class Reach : std::uint8_t {
    file,      // the layout of the file, fixed when it is created
    committer, // the process that creates the run
    writers,   // every process that writes to it, as the creator says
    process    // the same, but each process may choose otherwise when it attaches: so it may change in a run
};

// The member of the options that a knob sets.
using KnobMember =
    std::variant<bool& (*)(Tuning&), std::uint32_t& (*)(Tuning&), std::uint64_t& (*)(Tuning&), double& (*)(Tuning&),
                 storage::Engine& (*)(Tuning&), std::string& (*)(Tuning&), std::optional<std::uint64_t>& (*)(Tuning&)>;

struct Knob {
    std::string_view name;
    KnobKind kind;
    Reach reach;
    KnobMember place;
    double least; // in bytes, nanoseconds, or as it is; nothing for engines, codecs and flags
    double most;
    std::string_view about; // one sentence
};

// None: "auto", which leaves the choice to the container. Sizes are in bytes, durations in nanoseconds.
using KnobValue = std::variant<std::monostate, bool, std::uint64_t, double, std::string>;

std::span<Knob const> knobs();

// Throws base::UsageError with similar names if there is no such knob.
Knob const& knob(std::string_view name);

// Throws base::UsageError with range and unit if the text is no value of the knob.
KnobValue parse(Knob const& knob, std::string_view text);
std::string text(Knob const& knob, KnobValue const& value);

KnobValue get(Tuning tuning, Knob const& knob);
void set(Tuning& tuning, std::string_view name, std::string_view text);

// Throws base::UsageError if a value is out of its range.
void check(Tuning const& tuning);

// Returns all knobs by name, as the file keeps them.
std::map<std::string, std::string> texts(Tuning const& tuning);

// For people: "size", "time", ...; "bytes", "seconds" or nothing; "1 B to 2 GiB", "auto, uring, threads or posix".
std::string_view type(Knob const& knob);
std::string_view applies_to(Knob const& knob);
std::string_view unit(Knob const& knob);
std::string range(Knob const& knob);
bool may_change(Knob const& knob);
// Whether a run that is resumed may have another value than it had: all but what is laid down in its files.
bool may_change_between(Knob const& knob);

} // namespace thalweg::tuning
