// The table of work units in memory that nothing vouches for: `recover` reads it after all processes of the run have
// died.
#include "thalweg/dataset/run/unit_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "thalweg/dataset/journal/journal_format.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using testing::message_of;

class DamagedUnitTable : public ::testing::Test {
  protected:
    DamagedUnitTable() {
        for (std::int64_t key = 0; key < 3; ++key) {
            ids.push_back(table->reserve({key}, "summary", [] {}));
            EXPECT_TRUE(table->link(ids.back(), 1));
        }
        ids.push_back(table->reserve({std::string("text")}, "", [] {}));
        EXPECT_TRUE(table->link(ids.back(), 1));
    }
    ~DamagedUnitTable() override {
        for (auto const& each : base::SharedMemory::list(name)) base::SharedMemory::unlink(each);
    }

    UnitEntry& entry(UnitEntryId id) {
        return *reinterpret_cast<UnitEntry*>(entries.data() + (id - std::size_t{1}) * 16);
    }
    // What reads all of the entry, as another process does.
    std::string said(UnitEntryId id) {
        return message_of([&] {
            auto const attached = UnitTable::attach(name, "");
            static_cast<void>(attached->key(id));
            static_cast<void>(attached->summary(id));
            static_cast<void>(attached->is_linked(id));
            static_cast<void>(attached->all_keys());
        });
    }

    std::string const name = fmt::format("thalweg-test-units-{}-", ::getpid());
    std::shared_ptr<UnitTable> table = [this] {
        auto made = UnitTable::create(name, {});
        made->admit(1 << 20);
        return made;
    }();
    base::SharedMemory entries = base::SharedMemory::attach(name + "u0");
    std::vector<UnitEntryId> ids;
};

TEST_F(DamagedUnitTable, IsReadWhereItIsNot) {
    for (auto const id : ids) EXPECT_EQ(said(id), "");
}

TEST_F(DamagedUnitTable, HasKeysAndSummariesOfNoMoreBytesThanThereAre) {
    for (std::uint32_t const bytes : {65u, 1u << 20, 0xfffffff0u}) {
        entry(ids[3]).key_bytes = bytes;
        EXPECT_NE(said(ids[3]).find("out of bounds"), std::string::npos) << bytes;
    }
    for (std::uint32_t const bytes : {1u << 20, 0xffffffffu}) {
        entry(ids[0]).summary_bytes = bytes;
        EXPECT_NE(said(ids[0]).find("out of bounds"), std::string::npos) << bytes;
    }
    // The first bytes of the last unit of a piece: the rest would lie in the next one.
    EXPECT_NE(said((1 << 20) / 16).find("out of bounds"), std::string::npos);
    EXPECT_NE(said(0).find("out of bounds"), std::string::npos);
    EXPECT_NE(said(0xffffffff).find("out of bounds"), std::string::npos);
}

TEST_F(DamagedUnitTable, HasChainsThatEnd) {
    entry(ids[1]).next = ids[1];
    entry(ids[1]).key = 77; // so that a look-up of 1 goes on
    auto const attached = UnitTable::attach(name, "");
    auto const one = message_of([&] { static_cast<void>(attached->find({std::int64_t{1}})); });
    auto const all = message_of([&] { static_cast<void>(attached->all_keys()); });
    EXPECT_NE(one.find("no end"), std::string::npos);
    EXPECT_NE(all.find("no end"), std::string::npos);
}

TEST_F(DamagedUnitTable, IsRefusedWhereAPieceOfItIsTooSmall) {
    auto const half = fmt::format("thalweg-test-units-half-{}-", ::getpid());
    base::SharedMemory::link(name + "u", half + "u");
    auto small = base::SharedMemory::create(half + "u0", 4096);
    small.keep();
    auto const attached = UnitTable::attach(half, "");
    EXPECT_NE(message_of([&] { static_cast<void>(attached->key(ids[0])); }).find("too small"), std::string::npos);
    for (auto const& each : base::SharedMemory::list(half)) base::SharedMemory::unlink(each);
}

} // namespace
} // namespace thalweg::dataset
