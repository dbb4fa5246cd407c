// A run that cannot be closed: what its writer says of it from then on.
#include <gtest/gtest.h>

#include "thalweg/base/clock.h"
#include "thalweg/dataset/test_bad_day.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

TEST(FailedClose, NothingBecomesDurableByIt) {
    for (auto const& container : {hdf5_container(), rntuple_container()}) {
        SCOPED_TRACE(container.path);
        storage::FaultPlan plan;
        plan.fail_sync = 0; // the data file is not synced before it is closed
        auto const file = std::make_shared<storage::FaultyStorage>(storage::make_memory_storage(container.path),
                                                                   std::make_shared<storage::Faults>(plan));
        auto options = small_run_options();
        options.commit.flush_interval_ns = 3600'000'000'000;
        auto const writer = Writer::create_on(file, storage::make_memory_storage(container.journal_path()),
                                              container.format, container.head(), options);
        auto producer = writer->producer("events");
        append_events(producer, 0, 0, 500);
        producer.finish();
        auto const appended_ns = base::monotonic_ns();
        EXPECT_NE(message_of([&] { writer->close(kTimeoutNs); }).find("cannot sync"), std::string::npos);
        for (int i = 0; i < 3; ++i) {
            base::sleep_ns(20'000'000);
            auto const asked_ns = base::monotonic_ns();
            auto const status = writer->status();
            EXPECT_GE(status.durable_lag_ns, asked_ns - appended_ns);
            EXPECT_NE(status.failure.find("cannot sync"), std::string::npos) << status.failure;
        }
        auto const again = message_of([&] { writer->close(kTimeoutNs); });
        EXPECT_NE(again.find("cannot sync"), std::string::npos) << again;
        EXPECT_NE(again.find("recover"), std::string::npos) << again;
    }
}

} // namespace
} // namespace thalweg::dataset
