#include "thalweg/trace/activity.h"

#include <array>
#include <climits>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <unordered_map>

namespace thalweg::trace {
namespace {

constexpr std::array<char const*, kActivities> kNames = {
    "encode_page",     "decode_page", "claim_extent", "wait_for_space", "wait_for_memory",      "wait_for_writes",
    "write_in_flight", "sync_data",   "sync_journal", "write_journal",  "write_interim_footer", "complete_file"};

template <class Function> bool find(Function& function, char const* name) {
    function = reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
    return function != nullptr;
}

// By name: the tracer's library may be of another version, and there need be none.
detail::Tracer const* find_tracer() {
    static detail::Tracer found{};
    unsigned (*number_of)(char const*) = nullptr;
    bool const is_there = find(number_of, "thalweg_interpose_activity") &&
                          find(found.begin, "thalweg_interpose_begin") && find(found.end, "thalweg_interpose_end") &&
                          find(found.cancel, "thalweg_interpose_cancel") && find(found.now, "thalweg_interpose_now") &&
                          find(found.note, "thalweg_interpose_note") && find(found.file, "thalweg_interpose_file");
    if (!is_there) return nullptr;
    bool is_any_recorded = false;
    for (std::size_t i = 0; i < kActivities; ++i) {
        found.numbers[i] = number_of(kNames[i]);
        is_any_recorded = is_any_recorded || found.numbers[i] != 0;
    }
    return is_any_recorded ? &found : nullptr;
}

// The tracer's number of a file. Each thread has its own: a child of a fork would inherit a lock in an unknown state.
std::uint32_t number_of_file(char const* path) {
    if (path == nullptr) return 0;
    thread_local std::unordered_map<std::string, std::uint32_t> known;
    auto const found = known.find(path);
    if (found != known.end()) return found->second;
    std::array<char, PATH_MAX> resolved; // as the descriptors of the file name it
    auto const* const name = ::realpath(path, resolved.data());
    auto const number = detail::kTracer->file(name == nullptr ? path : name);
    if (number != 0) known.emplace(path, number); // 0: there was no room, and it is tried again
    return number;
}

} // namespace

detail::Tracer const* const detail::kTracer = find_tracer();

void Traced::begin(Activity activity, char const* path, std::uint64_t size_bytes) {
    auto const number = detail::kTracer->numbers[static_cast<std::size_t>(activity)];
    if (number == 0) return;
    set_size(size_bytes);
    is_under_way_ = true;
    detail::kTracer->begin(room_, number, number_of_file(path), size_);
}

void Traced::end() { detail::kTracer->end(room_, size_, result_, detail_); }

void Traced::cancel() {
    if (is_under_way_) detail::kTracer->cancel(room_);
    is_under_way_ = false;
}

void trace_write(char const* path, std::uint64_t begin, std::uint64_t offset, std::uint64_t size_bytes, int error,
                 unsigned engine) {
    if (!is_traced() || begin == 0) return;
    auto const number = detail::kTracer->numbers[static_cast<std::size_t>(Activity::write_in_flight)];
    if (number == 0) return;
    detail::kTracer->note(number, number_of_file(path), begin, static_cast<std::int64_t>(offset),
                          static_cast<std::int64_t>(size_bytes), error, engine);
}

} // namespace thalweg::trace
