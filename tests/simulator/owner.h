// The process that created or resumed a run: it asks for the status of the run, lets it go on in further files, and
// ends it. It notes what it was promised.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "tests/simulator/history.h"
#include "thalweg/base/thread.h"

namespace thalweg::simulator {

class Owner {
  public:
    // `handle` is that of the newest file, to which others attach. They exist as long as `others` returns true.
    Owner(World& world, Scenario const& scenario, Random& random, Promises& promises, std::string& handle)
        : world_(world), scenario_(scenario), random_(random), promises_(promises), handle_(handle) {}

    void own(std::unique_ptr<dataset::Writer> writer, std::function<bool()> const& others);

    // Resumes the run that everything has left: the newest file that exists, once the ones before are complete. Returns
    // nothing if that is allowed; otherwise it is a fault.
    std::unique_ptr<dataset::Writer> resume(Blame const& blame);

  private:
    struct OpenFile {
        std::unique_ptr<dataset::Writer> writer;
        std::size_t number = 0;
        base::Thread closing = {};
        bool closed = false;
    };

    void ask();
    bool may_rotate() const;
    void rotate();
    void close(OpenFile& file);
    void close_all();
    std::unique_ptr<dataset::Writer> try_to_resume(std::string const& path);
    bool recover_earlier();
    // The content must stay as it is from now on.
    void note_content(FilePromise& file, char const* when);

    World& world_;
    Scenario const& scenario_;
    Random& random_;
    Promises& promises_;
    std::string& handle_;
    std::list<OpenFile> files_; // in their order
    std::uint64_t rotations_ = 0, next_rotation_ = 0;
};

} // namespace thalweg::simulator
