// Threads that take turns: each has a stack of its own, and runs until it gives its turn back.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace thalweg::simulator {

// Stacks live longer than fibers that were dropped in the middle, and are used again.
class Stacks {
  public:
    Stacks() = default;
    Stacks(Stacks const&) = delete;
    Stacks& operator=(Stacks const&) = delete;
    ~Stacks();
    std::byte* take();
    void give_back(std::byte* stack) { free_.push_back(stack); }

  private:
    std::vector<std::byte*> all_;
    std::vector<std::byte*> free_;
};

class Fiber {
  public:
    // `work` must not throw.
    Fiber(Stacks& stacks, std::function<void()> work);
    Fiber(Fiber const&) = delete;
    Fiber& operator=(Fiber const&) = delete;
    // A fiber that has not ended is never resumed, and the objects on its stack are not destroyed.
    ~Fiber();

    // Runs until the fiber suspends itself, or ends.
    void resume();
    // Called by the running fiber.
    void suspend();
    bool ended() const { return ended_; }

  private:
    static void begin();
    // The state that the C++ runtime keeps of a thread while it handles exceptions.
    using ExceptionState = std::array<std::byte, 16>;
    void switch_to(void** from, void* to);

    Stacks& stacks_;
    std::function<void()> work_;
    std::byte* stack_;
    void* own_ = nullptr;    // where the fiber stopped
    void* caller_ = nullptr; // where its resumer stopped
    ExceptionState exceptions_{};
    bool ended_ = false;
};

} // namespace thalweg::simulator
