#include "thalweg/format/hdf5/schema_attributes.h"

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "thalweg/format/hdf5/files/test_foreign.h"
#include "thalweg/format/hdf5/files/test_run.h"

namespace thalweg::format::hdf5::files {
namespace {

using model::Attribute, model::Attributes, model::Scalar;

constexpr std::uint64_t kSealOffset = 1024;

// One of every type, of no, one and several values.
Attributes everything() {
    Attributes attributes;
    for (int i = 0; i <= static_cast<int>(Scalar::complex128); ++i) {
        auto const scalar = static_cast<Scalar>(i);
        for (std::vector<std::uint64_t> const& shape : {std::vector<std::uint64_t>{}, {0}, {1}, {2, 3}}) {
            std::uint64_t count = 1;
            for (auto const extent : shape) count *= extent;
            Attribute each{fmt::format("{} {}", name_of(scalar), shape.empty() ? "single" : fmt::to_string(count)),
                           scalar,
                           shape,
                           std::vector<std::byte>(count * size_bytes(scalar)),
                           {}};
            for (std::size_t at = 0; at < each.values.size(); ++at)
                each.values[at] = static_cast<std::byte>(scalar == Scalar::boolean ? at % 2 : at % 100);
            attributes.push_back(std::move(each));
        }
    }
    attributes.push_back({"text", {}, {}, {}, {"\xc2\xb5s"}});
    attributes.push_back({"texts", {}, {2, 1}, {}, {"", "two"}});
    std::ranges::sort(attributes, {}, &Attribute::name);
    return attributes;
}

model::Schema annotated_schema() {
    auto nested = record_field("s", {scalar_field("x", Scalar::int32)});
    nested.members[0].attributes = nested.attributes = everything();
    nested.members[0].unit = "mm";
    auto list = list_field("l", scalar_field("", Scalar::float32));
    list.members[0].attributes = list.attributes = everything();
    auto text = string_field("text");
    text.attributes = everything();
    return {{{"ch0/raw", {nested, list, text}, "a table", everything()}},
            everything(),
            {{"ch0", everything()}, {"notes/of/mine", everything()}}};
}

TEST(Hdf5Attributes, AreWhatWasWrittenByOurHeadAndByTheObjects) {
    TestRun run(annotated_schema());
    run.add_part(0, 100);
    run.complete();
    EXPECT_EQ(hdf5_format().load(*run.file).head.schema, annotated_schema());
    run.file->write(kSealOffset, Bytes(32)); // as if another program had been there: they are read from the objects
    auto const map = hdf5_format().load(*run.file);
    EXPECT_EQ(map.head.schema, annotated_schema());
    EXPECT_TRUE(map.left_out.empty()) << map.left_out[0].str();
}

TEST(Hdf5Attributes, OfPartsOfAListAreNamed) {
    ForeignFile made;
    made.dataset("/t/x", H5T_IEEE_F64LE, std::vector<double>(3), {3});
    made.dataset("/t/l/cumulative_length", H5T_STD_I64LE, std::vector<std::int64_t>{1, 2, 3}, {3});
    made.dataset("/t/l/flattened_data", H5T_STD_U8LE, std::vector<std::uint8_t>(3), {3});
    made.attribute("/t/l/cumulative_length", "datatype", "array<1>{real}");
    made.attribute("/t/l/cumulative_length", "origin", "a card");
    made.attribute("/t/l/flattened_data", "encoding", "utf-8");
    auto const file = made.storage();
    auto const map = hdf5_format().load(*file);
    ASSERT_EQ(map.left_out.size(), 1u);
    EXPECT_EQ(map.left_out[0].path, "the attribute 'origin' of /t/l/cumulative_length");
}

TEST(Hdf5Attributes, OfNamesThatAreNoUtf8AreNamed) {
    ForeignFile made;
    made.dataset("/t/x", H5T_IEEE_F64LE, std::vector<double>(3), {3});
    made.dataset("/g\xff/t/x", H5T_IEEE_F64LE, std::vector<double>(3), {3});
    made.attribute("/g\xff", "a", "b");
    made.attribute("/t", "n\xfe", "b");
    made.attribute("/t", "v", "\xfd");
    auto const file = made.storage();
    auto const map = hdf5_format().load(*file);
    EXPECT_EQ(map.tables.size(), 2u);
    std::vector<std::string> paths;
    for (auto const& each : map.left_out) paths.push_back(each.path);
    EXPECT_EQ(paths, (std::vector<std::string>{"the attribute 'n\\xfe' of /t", "the attribute 'v' of /t",
                                               "the attributes of /g\\xff"}));
}

} // namespace
} // namespace thalweg::format::hdf5::files
