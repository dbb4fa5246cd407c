#include "stop.h"

#include <algorithm>
#include <chrono>
#include <csignal>

namespace quantum_hall {

namespace {

std::sig_atomic_t volatile signal_has_come = 0;

void note(int) { signal_has_come = 1; }

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

} // namespace

void watch_signals() {
    struct sigaction action {};
    action.sa_handler = note;
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);
}

Stop::Stop(double wall_time_s) : wall_time_s_(wall_time_s), begin_s_(now_s()), piece_begin_s_(begin_s_) {}

double Stop::seconds() const { return now_s() - begin_s_; }

std::string Stop::reason(Strips const& strips) {
    auto const now = now_s();
    longest_s_ = std::max(longest_s_, now - piece_begin_s_);
    piece_begin_s_ = now;
    // All ranks decide together, because their clocks and signals differ.
    auto const time_is_over = now - begin_s_ + longest_s_ > wall_time_s_;
    if (!strips.any(signal_has_come != 0 || time_is_over)) return "";
    return strips.any(signal_has_come != 0) ? "a signal asked for it" : "the wall time is over";
}

} // namespace quantum_hall
