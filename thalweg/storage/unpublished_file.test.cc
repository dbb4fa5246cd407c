#include "thalweg/storage/unpublished_file.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "thalweg/storage/storage.h"
#include "thalweg/storage/test_directory.h"

namespace thalweg::storage {
namespace {

void write_file(std::string const& path, std::string const& text) { std::ofstream(path, std::ios::binary) << text; }

std::string text_of(std::string const& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

struct UnpublishedFileTest : testing::Test {
    TestDirectory const directory;
    std::string const source = directory.path("source");
    std::string const out = directory.path("out");
};

TEST_F(UnpublishedFileTest, CopiesTheOpenFileWhateverItsNameHoldsByNow) {
    write_file(source, "the first file");
    auto const open = open_file_storage(source, OpenMode::read_only, Engine::posix);
    write_file(directory.path("other"), "another one, longer");
    std::filesystem::rename(directory.path("other"), source);
    UnpublishedFile made(out);
    made.copy_from(*open, open->size(), {});
    made.publish(false);
    EXPECT_EQ(text_of(out), "the first file");
}

TEST_F(UnpublishedFileTest, CopiesWhatIsNoFile) {
    auto const memory = make_memory_storage("memory");
    std::string const text(3'000'000, 'a');
    memory->write(0, std::as_bytes(std::span(text)));
    UnpublishedFile made(out);
    EXPECT_EQ(made.copy_from(*memory, text.size(), {}), CopyWay::through);
    made.publish(false);
    EXPECT_EQ(text_of(out), text);
}

TEST_F(UnpublishedFileTest, LeavesNothingIfItIsNotPublished) {
    { UnpublishedFile(out).write(0, std::as_bytes(std::span("bytes"))); }
    EXPECT_TRUE(std::filesystem::is_empty(std::filesystem::path(out).parent_path()));
}

} // namespace
} // namespace thalweg::storage
