// An emulated card that writes in a thread of its own.
#pragma once

#include <thread>

#include "thalweg/felix/card.h"

namespace thalweg::readout {

// Runs until it is stopped or has sent everything.
class RunningCard {
  public:
    explicit RunningCard(felix::CardOptions const& options) : card(options), thread_([this] { card.run(); }) {}
    ~RunningCard() { card.stop(); }
    void join() { thread_.join(); }

    felix::Card card;

  private:
    std::jthread thread_;
};

} // namespace thalweg::readout
