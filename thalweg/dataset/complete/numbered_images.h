// Gives images numbers, for programs that show files to others by names that must always mean the same bytes: a server,
// a mounted folder.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "thalweg/base/thread.h"
#include "thalweg/dataset/complete/image.h"

namespace thalweg::dataset {

struct NumberedImagesOptions {
    // Images that are kept open for later requests: each has a descriptor, and those of unfinished runs take memory.
    std::size_t most_open = 256;
    std::uint64_t most_memory_bytes = 512 << 20;
    // An image is the newest one for at least so long, and for so many times the time that it took to make it.
    std::uint64_t pause_ns = 200'000'000;
    std::uint64_t times_of_making = 4;
};

struct NewestImage {
    std::uint64_t number = 0;
    std::uint64_t size_bytes = 0;
    std::shared_ptr<FileImage const> unfinished; // none: the file is complete, and `find` opens it
};

// A number is never used twice. Thread-safe; images of different files are made at the same time.
class NumberedImages {
  public:
    explicit NumberedImages(NumberedImagesOptions const& options = {}) : options_(options) {}

    // Returns the image of what is at `path` now: the one that it returned before if nothing has changed since, or if
    // that was a moment ago. Throws as `image_of`.
    NewestImage newest(std::string const& path);

    // Returns the image of this number; nothing if there is none of this path, or if it is kept no more: that of an
    // unfinished run after many others were asked for, that of a complete file only if the file was also changed,
    // replaced or removed.
    std::shared_ptr<FileImage const> find(std::uint64_t number, std::string const& path);

  private:
    // What one path shows. `making` is held while its newest image is looked for.
    struct Place {
        base::Mutex making;
        std::uint64_t newest = 0;   // 0: none yet
        std::uint64_t until_ns = 0; // the file is not looked at before this
    };
    struct Known {
        std::shared_ptr<Place> place;
        std::string path;
        ImageStamp stamp;
        std::uint64_t size_bytes = 0;
        std::shared_ptr<FileImage const> image; // none: that of a complete file which is not open
        std::uint64_t number = 0;
        std::uint64_t last_use = 0;
    };

    std::shared_ptr<Place> place_of(std::string const& path);
    // Returns nothing if no image has this number.
    std::optional<Known> known(std::uint64_t number);
    // Makes the newest image of a place that the caller holds, or returns the one before if it shows the same.
    Known made(std::shared_ptr<Place> const& place, std::string const& path, ImageStamp const& stamp,
               std::optional<Known> const& before);
    void give_up_some() THALWEG_REQUIRES(mutex_);

    NumberedImagesOptions options_;
    base::Mutex mutex_;
    std::map<std::string, std::shared_ptr<Place>> places_ THALWEG_GUARDED_BY(mutex_);
    std::map<std::uint64_t, Known> known_ THALWEG_GUARDED_BY(mutex_);
    std::uint64_t numbers_ THALWEG_GUARDED_BY(mutex_) = 0;
    std::uint64_t uses_ THALWEG_GUARDED_BY(mutex_) = 0;
};

} // namespace thalweg::dataset
