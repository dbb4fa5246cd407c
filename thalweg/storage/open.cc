// Which storage a file gets.
#include <array>
#include <fmt/format.h>
#include <utility>

#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/storage/direct.h"
#include "thalweg/storage/probe.h"
#include "thalweg/storage/stand_in.h"
#include "thalweg/storage/uring_queue.h"

namespace thalweg::storage {
namespace {

constexpr std::array<std::pair<char const*, Engine>, 4> kEngines{
    {{"auto", Engine::automatic}, {"uring", Engine::uring}, {"threads", Engine::threads}, {"posix", Engine::posix}}};

[[noreturn]] void refuse(std::string const& path, char const* engine, std::string const& why) {
    base::fail_usage({fmt::format("cannot use the engine '{}' for {}", engine, path), why, "take auto or posix"});
}

} // namespace

Engine parse_engine(std::string const& text) {
    for (auto const& [name, engine] : kEngines) {
        if (text == name) return engine;
    }
    base::fail_usage({fmt::format("'{}' is not a storage engine", text), "", "take auto, uring, threads or posix"});
}

std::string_view engine_name(Engine engine) {
    for (auto const& [name, each] : kEngines) {
        if (each == engine) return name;
    }
    base::fail_usage({fmt::format("{} is not a storage engine", static_cast<unsigned>(engine))});
}

std::unique_ptr<Storage> open_file_storage(std::string const& path, OpenMode mode, Engine engine) {
    if (stand_in != nullptr) return stand_in->open(path, mode);
    if (engine == Engine::uring) {
        if (auto const why = why_no_uring(); !why.empty()) refuse(path, "uring", why);
    }
    auto file = std::make_unique<PosixStorage>(path, mode);
    if (engine == Engine::posix || mode == OpenMode::read_only) return file;
    // Whether direct I/O works can only be asked of a file that is there: hence the second opening, and the removal.
    try {
        auto const why = why_not_direct(path);
        if (why.empty()) return std::make_unique<DirectStorage>(path, OpenMode::read_write, engine);
        if (engine == Engine::automatic) return file;
        refuse(path, engine == Engine::uring ? "uring" : "threads", why);
    } catch (...) {
        if (mode == OpenMode::create_new) base::remove_file(path);
        throw;
    }
}

std::unique_ptr<Storage> open_file_storage(std::string const& path, base::FileDescriptor const& file) {
    if (stand_in != nullptr) return stand_in->open(path, OpenMode::read_write);
    return std::make_unique<PosixStorage>(path, OpenMode::read_write, base::duplicate(file));
}

} // namespace thalweg::storage
