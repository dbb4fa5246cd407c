#include "thalweg/readout/builder/hooks.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <utility>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"

namespace thalweg::readout {
namespace {

std::uint8_t const* as_c(std::byte const* bytes) { return reinterpret_cast<std::uint8_t const*>(bytes); }

} // namespace

std::shared_ptr<HookLibrary> HookLibrary::load(HookConfig const& config) {
    auto library = std::make_shared<HookLibrary>();
    library->config_ = config;
    auto const problem = "cannot use the hook library " + config.library;
    library->handle_ = ::dlopen(config.library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library->handle_ == nullptr) base::fail_usage({problem, ::dlerror(), "give the path of a shared object"});
    using Entry = thalweg_hook_api const* (*)();
    auto const entry = reinterpret_cast<Entry>(::dlsym(library->handle_, "thalweg_hook"));
    if (entry == nullptr)
        base::fail_usage({problem, "it exports no function thalweg_hook", "see readout/builder/hook.h"});
    library->api_ = entry();
    if (library->api_ == nullptr || library->api_->abi != THALWEG_HOOK_ABI) {
        auto const abi = library->api_ == nullptr ? 0 : library->api_->abi;
        base::fail_usage(
            {problem, fmt::format("its ABI is {}, this version needs {}", abi, THALWEG_HOOK_ABI), "build it anew"});
    }
    return library;
}

HookLibrary::~HookLibrary() {
    if (handle_ != nullptr) ::dlclose(handle_);
}

// Adds the duration of a call to the time used.
class Hook::Watch {
  public:
    explicit Watch(Hook& hook) : hook_(hook), begin_ns_(base::monotonic_ns()) {}
    Watch(Watch const&) = delete;
    Watch& operator=(Watch const&) = delete;
    ~Watch() {
        if (base::monotonic_ns() - begin_ns_ <= hook_.library_->config().budget_ns) return;
        hook_.late_ = true;
        ++hook_.overruns_;
    }

  private:
    Hook& hook_;
    std::uint64_t begin_ns_;
};

Hook::Hook(std::shared_ptr<HookLibrary> library, std::uint32_t source_id) : library_(std::move(library)) {
    auto const& api = library_->api();
    if (api.create == nullptr) return;
    self_ = api.create(library_->config().configuration.c_str(), source_id);
    if (self_ != nullptr) return;
    base::fail_usage({fmt::format("the hook {} cannot be made for source {:#x}", api.name, source_id),
                      "its create() returned NULL", "check hook.configuration"});
}

Hook::~Hook() {
    if (self_ != nullptr && library_->api().destroy != nullptr) library_->api().destroy(self_);
}

bool Hook::trigger(std::span<std::byte const> packet, std::uint16_t elink, thalweg_trigger& out) {
    Watch const watch(*this);
    return library_->api().trigger(self_, as_c(packet.data()), packet.size(), elink, &out) == 0;
}

bool Hook::check(std::span<std::byte const> packet, std::uint16_t elink) {
    if (library_->api().check == nullptr) return true;
    Watch const watch(*this);
    return library_->api().check(self_, as_c(packet.data()), packet.size(), elink) == 0;
}

Hook::Rewritten Hook::rewrite(std::uint64_t event, std::byte* body, std::size_t size_bytes,
                              std::size_t capacity_bytes) {
    auto const& api = library_->api();
    if (api.rewrite == nullptr) return {};
    Watch const watch(*this);
    auto size = size_bytes;
    bool const refused = api.rewrite(self_, event, reinterpret_cast<std::uint8_t*>(body), &size, capacity_bytes) != 0;
    if (refused || size > capacity_bytes) return {.done = false, .failed = true, .size_bytes = size_bytes};
    return {.done = true, .failed = false, .size_bytes = size};
}

bool Hook::was_late() { return std::exchange(late_, false); }

} // namespace thalweg::readout
