#include "thalweg/storage/traced_queue.h"

#include <gtest/gtest.h>
#include <memory>

#include "thalweg/storage/queue.h"
#include "thalweg/trace/activity.h"

namespace thalweg::storage {
namespace {

// With a tracer: tests/python/trace_own_test.py.
TEST(TracedQueue, IsTheQueueItselfIfNoTracerIsThere) {
    ASSERT_FALSE(trace::is_traced());
    auto const storage = make_memory_storage("memory");
    auto queue = make_synchronous_queue(*storage);
    auto* const itself = queue.get();
    EXPECT_EQ(traced(std::move(queue), "memory", 4, QueueEngine::threads).get(), itself);
    EXPECT_EQ(traced(nullptr, "memory", 4, QueueEngine::uring), nullptr);
}

} // namespace
} // namespace thalweg::storage
