// Loads a hook library (readout/builder/hook.h) and measures its calls against a time budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "thalweg/readout/builder/hook.h"
#include "thalweg/readout/config.h"

namespace thalweg::readout {

class HookLibrary {
  public:
    // Throws base::UsageError if the library cannot be loaded, exports no `thalweg_hook`, or has another ABI.
    static std::shared_ptr<HookLibrary> load(HookConfig const& config);
    ~HookLibrary();

    thalweg_hook_api const& api() const { return *api_; }
    HookConfig const& config() const { return config_; }

  private:
    HookConfig config_;
    void* handle_ = nullptr;
    thalweg_hook_api const* api_ = nullptr;
};

// One instance of the hook, for one group.
class Hook {
  public:
    Hook(std::shared_ptr<HookLibrary> library, std::uint32_t source_id);
    ~Hook();

    bool reads_trigger() const { return library_->api().trigger != nullptr; }
    bool trigger(std::span<std::byte const> packet, std::uint16_t elink, thalweg_trigger& out);
    bool check(std::span<std::byte const> packet, std::uint16_t elink);
    // The result of a rewrite: `done` is false if the hook refused or has no such function.
    struct Rewritten {
        bool done = false;
        bool failed = false;
        std::size_t size_bytes = 0;
    };
    Rewritten rewrite(std::uint64_t event, std::byte* body, std::size_t size_bytes, std::size_t capacity_bytes);

    // Returns whether a call since the last question took longer than the budget.
    bool was_late();
    std::uint64_t overruns() const { return overruns_; }

  private:
    class Watch;

    std::shared_ptr<HookLibrary> library_;
    void* self_ = nullptr;
    std::uint64_t overruns_ = 0;
    bool late_ = false;
};

} // namespace thalweg::readout
