#include "tests/simulator/fiber.h"

#include <cstdint>
#include <cstring>
#include <cxxabi.h>
#include <new>
#include <sys/mman.h>

#ifndef __x86_64__
#error "the simulator switches stacks by hand, and knows only x86-64"
#endif

// Saves the registers that a function must preserve, and goes on where `to` was saved.
extern "C" void thalweg_switch_stacks(void** from, void* to);
asm(R"(
.text
.globl thalweg_switch_stacks
.type thalweg_switch_stacks, @function
thalweg_switch_stacks:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size thalweg_switch_stacks, .-thalweg_switch_stacks
)");

namespace thalweg::simulator {
namespace {

constexpr std::size_t kGuardBytes = 4096;
constexpr std::size_t kStackBytes = 512 * 1024;

Fiber* beginning = nullptr;

} // namespace

Stacks::~Stacks() {
    for (auto* stack : all_) ::munmap(stack - kGuardBytes, kStackBytes + kGuardBytes);
}

std::byte* Stacks::take() {
    if (!free_.empty()) {
        auto* const stack = free_.back();
        free_.pop_back();
        return stack;
    }
    void* const address = ::mmap(nullptr, kStackBytes + kGuardBytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (address == MAP_FAILED) throw std::bad_alloc();
    ::mprotect(address, kGuardBytes, PROT_NONE);
    all_.push_back(static_cast<std::byte*>(address) + kGuardBytes);
    return all_.back();
}

Fiber::Fiber(Stacks& stacks, std::function<void()> work)
    : stacks_(stacks), work_(std::move(work)), stack_(stacks.take()) {
    auto* const top = reinterpret_cast<std::uint64_t*>(stack_ + kStackBytes);
    top[-1] = 0; // the place where `begin` would return to, which aligns the stack as a call does
    top[-2] = reinterpret_cast<std::uint64_t>(&Fiber::begin);
    std::memset(top - 8, 0, 6 * sizeof *top);
    own_ = top - 8;
}

Fiber::~Fiber() { stacks_.give_back(stack_); }

void Fiber::begin() {
    auto* const self = beginning;
    self->work_();
    self->ended_ = true;
    self->suspend();
    __builtin_unreachable();
}

void Fiber::switch_to(void** from, void* to) {
    auto* const runtime = abi::__cxa_get_globals();
    ExceptionState mine;
    std::memcpy(mine.data(), runtime, mine.size());
    std::memcpy(static_cast<void*>(runtime), exceptions_.data(), mine.size());
    exceptions_ = mine;
    thalweg_switch_stacks(from, to);
}

void Fiber::resume() {
    beginning = this;
    switch_to(&caller_, own_);
}

void Fiber::suspend() { switch_to(&own_, caller_); }

} // namespace thalweg::simulator
