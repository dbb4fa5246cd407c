#include "thalweg/format/rntuple/writing/interim_footers.h"

#include <gtest/gtest.h>

#include "thalweg/base/units.h"
#include "thalweg/format/rntuple/format.h"

namespace thalweg::format::rntuple {
namespace {

TEST(InterimFootersDeathTest, AFooterThatAnchorsMayNameIsNotWrittenOver) {
    model::Schema const schema{{{"t", {{.name = "x", .scalar = model::Scalar::uint64}}, ""}}};
    auto const head = rntuple_format().make_head(schema, {}, {});
    auto const file = storage::make_memory_storage("run.root");
    RNTupleInterimFooters footers(head);
    auto const end = base::kBlockBytes + footers.write_all(*file, base::kBlockBytes);
    footers.publish(*file);
    EXPECT_DEATH(footers.write_all(*file, base::kBlockBytes), "footers that anchors may name are never written over");
    footers.write_all(*file, end); // behind it there is room
}

} // namespace
} // namespace thalweg::format::rntuple
