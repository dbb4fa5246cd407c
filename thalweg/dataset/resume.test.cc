// Which runs can be resumed; what is in them afterwards is in the tests of units and of producers.
#include "thalweg/dataset/resume.h"

#include <gtest/gtest.h>

#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

class Resume : public ::testing::TestWithParam<char const*> {};

TEST_P(Resume, IsOfUnfinishedRunsAlone) {
    Directory const directory;
    auto const path = directory.file(std::string("run") + GetParam());
    auto const writer = Writer::create(path, pulses(4), {});
    EXPECT_NE(message_of([&] { Writer::resume(path, {}, {}); }), "") << "it is being written";
    writer->close(kTimeoutNs);
    EXPECT_NE(message_of([&] { Writer::resume(path, {}, {}); }).find("nothing to resume"), std::string::npos);
    CreateOptions options;
    options.force = true;
    Writer::create(path, pulses(4), options)->abandon();
    EXPECT_NE(message_of([&] { Writer::resume(path, pulses(3), {}); }).find("another schema"), std::string::npos);
    Writer::resume(path, {}, {})->close(kTimeoutNs);
}

INSTANTIATE_TEST_SUITE_P(All, Resume, ::testing::Values(".h5", ".root"),
                         [](auto const& name) { return std::string(name.param).substr(1); });

} // namespace
} // namespace thalweg::dataset
