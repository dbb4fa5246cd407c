#include "thalweg/readout/builder/group_hook.h"

#include <cstring>

#include "thalweg/base/assert.h"
#include "thalweg/base/units.h"

namespace thalweg::readout {

GroupHook::GroupHook(GroupOptions const& options)
    : trigger_(options.trigger), fragment_bytes_(options.group.fragment_bytes) {
    if (options.hook) hook_ = std::make_unique<Hook>(options.hook, options.group.source_id);
}

bool GroupHook::read_key(felix::Packet const& packet, std::uint16_t elink, PacketKey& key, bool& damaged) {
    if (!hook_) return readout::read_key(trigger_, packet, key);
    std::span const bytes(packet.data, packet.size_bytes);
    if (!hook_->reads_trigger()) {
        if (!readout::read_key(trigger_, packet, key)) return false;
    } else {
        thalweg_trigger trigger = {};
        if (!hook_->trigger(bytes, elink, trigger)) return false;
        key = {trigger.l1id, trigger.bcid, trigger.trigger_type};
    }
    damaged = !hook_->check(bytes, elink);
    if (damaged) failures_.add(1);
    return true;
}

void GroupHook::rewrite(FragmentHeader* fragment) {
    auto* const body = reinterpret_cast<std::byte*>(fragment) + fragment->header_bytes;
    auto const capacity = fragment_bytes_ - fragment->header_bytes;
    auto const size = fragment->length_bytes - fragment->header_bytes;
    auto const rewritten = hook_->rewrite(fragment->event, body, size, capacity);
    if (rewritten.failed) {
        fragment->status |= kHookFailed;
        failures_.add(1);
    }
    if (hook_->was_late()) fragment->status |= kHookLate;
    overruns_.set(hook_->overruns());
    if (!rewritten.done) return;
    auto const padded = base::round_up(rewritten.size_bytes, kPayloadAlignment);
    std::memset(body + rewritten.size_bytes, 0, padded - rewritten.size_bytes);
    std::memset(reinterpret_cast<std::byte*>(fragment + 1), 0, fragment->header_bytes - sizeof *fragment);
    fragment->length_bytes = static_cast<std::uint32_t>(fragment->header_bytes + padded);
    fragment->status |= kRewritten;
}

} // namespace thalweg::readout
