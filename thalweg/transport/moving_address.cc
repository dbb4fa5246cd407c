#include "thalweg/transport/moving_address.h"

#include <system_error>
#include <thread>

#include "thalweg/base/error.h"
#include "thalweg/base/thread.h"

namespace thalweg::transport {

struct MovingAddress::State {
    explicit State(std::string const& given)
        : text(given), has_name(names_host(given)), address(parse_address(given)) {}

    std::string const text;
    bool const has_name;
    base::Mutex mutex;
    Address address THALWEG_GUARDED_BY(mutex);
    bool is_looking THALWEG_GUARDED_BY(mutex) = false;

    void look() {
        Address found;
        try {
            found = parse_address(text);
        } catch (base::Error const&) { // the last address stays: the name may be back later
        }
        base::Lock const lock(mutex);
        if (found.size_bytes != 0) address = found;
        is_looking = false;
    }
};

MovingAddress::MovingAddress(std::string const& text) : state_(std::make_shared<State>(text)) {}

Address MovingAddress::now() const {
    base::Lock const lock(state_->mutex);
    return state_->address;
}

void MovingAddress::look_up_again() {
    if (!state_->has_name) return;
    base::Lock const lock(state_->mutex);
    if (state_->is_looking) return;
    try {
        // The thread shares the state, and no object waits for it: it may take longer than this one lives.
        std::thread([state = state_] { state->look(); }).detach();
        state_->is_looking = true;
    } catch (std::system_error const&) { // no thread is left: it is tried again with the next attempt
    }
}

} // namespace thalweg::transport
