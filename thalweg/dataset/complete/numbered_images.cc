#include "thalweg/dataset/complete/numbered_images.h"

#include <algorithm>

#include "thalweg/base/clock.h"

namespace thalweg::dataset {
namespace {

ImageStamp stamp_of(FileImage const& image, ImageStamp const& before) {
    if (image.unfinished) return before;
    return {{*image.state}, false, false}; // it may have been closed since
}

bool shows_the_same(FileImage const& before, FileImage const& now) {
    if (!before.unfinished || !now.unfinished) return false;
    auto const &one = *before.unfinished, &other = *now.unfinished;
    auto const same_rows = [](TableReport const& a, TableReport const& b) {
        return a.rows == b.rows && a.lost_rows == b.lost_rows && a.rows_to_come == b.rows_to_come;
    };
    return one.run_id == other.run_id && one.is_written == other.is_written &&
           one.units_left_out == other.units_left_out && one.report.pages == other.report.pages &&
           one.report.notes == other.report.notes &&
           std::ranges::equal(one.report.tables, other.report.tables, same_rows);
}

} // namespace

std::shared_ptr<NumberedImages::Place> NumberedImages::place_of(std::string const& path) {
    base::Lock const lock(mutex_);
    auto& place = places_[path];
    if (!place) place = std::make_shared<Place>();
    return place;
}

std::optional<NumberedImages::Known> NumberedImages::known(std::uint64_t number) {
    base::Lock const lock(mutex_);
    auto const found = known_.find(number);
    if (found == known_.end()) return std::nullopt;
    found->second.last_use = ++uses_;
    return found->second;
}

NewestImage NumberedImages::newest(std::string const& path) {
    auto const place = place_of(path);
    base::Lock const making(place->making);
    auto known = this->known(place->newest);
    if (!known || base::monotonic_ns() >= place->until_ns) {
        auto const stamp = image_stamp(path);
        std::uint64_t making_ns = 0;
        if (!known || known->stamp != stamp) {
            auto const begin_ns = base::monotonic_ns();
            known = made(place, path, stamp, known);
            making_ns = base::monotonic_ns() - begin_ns;
        }
        place->until_ns =
            base::monotonic_ns() + options_.pause_ns + (stamp.is_unfinished ? options_.times_of_making * making_ns : 0);
    }
    return {known->number, known->size_bytes, known->stamp.is_unfinished ? known->image : nullptr};
}

NumberedImages::Known NumberedImages::made(std::shared_ptr<Place> const& place, std::string const& path,
                                           ImageStamp const& stamp, std::optional<Known> const& before) {
    Known made{place, path, stamp, 0, nullptr};
    if (stamp.is_unfinished) {
        made.image = std::make_shared<FileImage const>(image_of(path));
        made.stamp = stamp_of(*made.image, stamp);
    }
    made.size_bytes = made.image ? made.image->file->size() : stamp.files.front().size_bytes;
    base::Lock const lock(mutex_);
    auto const last = known_.find(place->newest);
    if (before && before->image && made.image && last != known_.end() && shows_the_same(*before->image, *made.image)) {
        last->second.stamp = made.stamp; // producers that wait touch the journal all the same
        return last->second;
    }
    if (last != known_.end() && !last->second.image) known_.erase(last); // it could not be opened any more
    made.number = place->newest = ++numbers_;
    made.last_use = ++uses_;
    known_[made.number] = made;
    give_up_some();
    return made;
}

std::shared_ptr<FileImage const> NumberedImages::find(std::uint64_t number, std::string const& path) {
    auto const found = known(number);
    if (!found || found->path != path) return nullptr;
    if (found->image) return found->image;
    auto image = std::make_shared<FileImage const>(image_of(path));
    if (image->unfinished || stamp_of(*image, {}) != found->stamp) return nullptr;
    base::Lock const lock(mutex_);
    auto const place = known_.find(number);
    if (place == known_.end()) return nullptr;
    place->second.image = image;
    give_up_some();
    return image;
}

void NumberedImages::give_up_some() {
    while (true) {
        std::size_t open = 0;
        std::uint64_t memory_bytes = 0;
        auto oldest = known_.end();
        for (auto each = known_.begin(); each != known_.end(); ++each) {
            if (!each->second.image) continue;
            ++open;
            memory_bytes += each->second.image->memory_bytes;
            if (oldest == known_.end() || each->second.last_use < oldest->second.last_use) oldest = each;
        }
        // The one that is asked for just now stays, whatever it takes.
        if (open <= 1 || (open <= options_.most_open && memory_bytes <= options_.most_memory_bytes)) return;
        auto const& known = oldest->second;
        if (!known.stamp.is_unfinished && known.place->newest == known.number) { // it can be opened again
            oldest->second.image.reset();
        } else {
            known_.erase(oldest);
        }
    }
}

} // namespace thalweg::dataset
