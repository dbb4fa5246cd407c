// The requests that handlers have not answered yet, by tag, with the credit that is reserved for their answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thalweg/base/assert.h"
#include "thalweg/readout/client/client_range.h"
#include "thalweg/readout/client/credit.h"
#include "thalweg/readout/client/remote_handler.h"
#include "thalweg/readout/protocol.h"

namespace thalweg::readout {

struct ClientRequest {
    MessageType type = MessageType::get;
    HandlerConnection* connection = nullptr;
    ClientRange* range = nullptr;           // for a get; nullptr: it only renews the lease
    std::vector<RangeToClear> cleared = {}; // for a clear
    std::vector<RangeKey> keys = {};        // for a take: those of the ranges that are given, in their order
    std::uint64_t reserved_bytes = 0;
    std::uint64_t sent_ns = 0;
    bool is_for_left_behind = false; // a take of events that no client asked for
};

class Requests {
  public:
    explicit Requests(std::uint64_t credit_bytes) : credit_(credit_bytes) {}

    // Reserves room for an answer before it is requested. Returns false if other answers must come first.
    bool reserve(std::uint64_t bytes) { return credit_.reserve(bytes); }
    void set_credit(std::uint64_t bytes) { credit_.set_limit(bytes); }
    Credit const& credit() const { return credit_; }

    // Returns the tag of the request, which is never 0.
    std::uint32_t add(ClientRequest request) {
        if (next_tag_ == 0) ++next_tag_;
        bool const is_new = requests_.emplace(next_tag_, std::move(request)).second;
        THALWEG_ASSERT(is_new, "a tag stands for one request at a time");
        THALWEG_ASSERT_COSTLY(reserved_bytes() == credit_.outstanding_bytes(), "every byte of credit has its request");
        return next_tag_++;
    }
    // Returns the request that an answer on this connection belongs to, or nothing if it was not asked for there.
    std::optional<ClientRequest> take(std::uint32_t tag, HandlerConnection const& connection) {
        auto const found = requests_.find(tag);
        if (found == requests_.end() || found->second.connection != &connection) return std::nullopt;
        return remove(found);
    }
    // Forgets a request. If its answer comes, it belongs to no request.
    void forget(std::uint32_t tag) {
        if (auto const found = requests_.find(tag); found != requests_.end()) remove(found);
    }
    // Visits all requests of a lost connection.
    template <typename Visit> void take_all_of(HandlerConnection const& connection, Visit&& visit) {
        for (auto it = requests_.begin(); it != requests_.end();) {
            auto const here = it++;
            if (here->second.connection == &connection) visit(remove(here));
        }
    }
    template <typename Visit> void visit(Visit&& visit) {
        for (auto& [tag, request] : requests_) visit(request);
    }
    bool has_clears() const {
        for (auto const& [tag, request] : requests_)
            if (request.type == MessageType::clear) return true;
        return false;
    }

  private:
    using ByTag = std::unordered_map<std::uint32_t, ClientRequest>;

    ClientRequest remove(ByTag::iterator at) {
        auto request = std::move(at->second);
        requests_.erase(at);
        credit_.release(request.reserved_bytes);
        return request;
    }
    std::uint64_t reserved_bytes() const {
        std::uint64_t sum = 0;
        for (auto const& [tag, request] : requests_) sum += request.reserved_bytes;
        return sum;
    }

    Credit credit_;
    ByTag requests_;
    std::uint32_t next_tag_ = 1;
};

} // namespace thalweg::readout
