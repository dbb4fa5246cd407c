// A handler without a card, for tests. It invents its events, answers as the protocol says, and misbehaves if a test
// says so.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <thread>
#include <vector>

#include "thalweg/base/clock.h"
#include "thalweg/base/thread.h"
#include "thalweg/readout/client/history.h"
#include "thalweg/readout/client/test_handler_options.h"
#include "thalweg/readout/protocol.h"
#include "thalweg/transport/poller.h"
#include "thalweg/transport/tcp.h"

namespace thalweg::readout::testing {

class TestHandler {
  public:
    explicit TestHandler(TestHandlerOptions const& options, std::string const& address = "127.0.0.1:0")
        : options_(options), next_(options.first_event),
          listener_(transport::listen_at(transport::parse_address(address))),
          thread_([this](std::stop_token const& stop) { run(stop); }) {
        static std::atomic<std::uint64_t> instances = 1;
        instance_ = instances++;
        poller_.add(listener_.socket.get(), 0);
    }

    std::string address() const { return listener_.address.str(); }
    std::uint64_t end() const { return options_.first_event + options_.events; }
    std::uint64_t cleared() const { return cleared_; }
    bool is_cleared(std::uint64_t event) const {
        base::Lock const lock(mutex_);
        return history_.contains(event);
    }
    std::uint64_t given() const { return next_ - options_.first_event; }
    std::uint64_t most_asked_bytes() const { return most_asked_bytes_; } // max_bytes of gets not yet answered
    std::uint64_t take_messages() const { return take_messages_; }
    std::uint64_t clear_messages() const { return clear_messages_; }
    void set_silent(bool silent) { silent_ = silent; }
    void set_refuse_clears(bool refuse) { refuse_clears_ = refuse; }
    void set_not_yet(bool not_yet) { not_yet_ = not_yet; }
    void set_running() { is_running_ = true; }      // the next run, if its state is another one
    void set_next_run() { is_in_next_run_ = true; } // it has ended its run, and has nothing of it any more
    void set_over(bool over) { over_ = over; }      // it says that its run is over

  private:
    struct Peer {
        base::FileDescriptor socket;
        std::vector<std::byte> in, out;
        std::size_t sent = 0;
        std::vector<std::pair<MessageHead, Get>> gathered;
        std::array<std::uint64_t, 2> client = {};
        bool close = false;
        bool is_cut = false; // in the middle of an answer: nothing follows
    };

    template <class T> static void put(std::vector<std::byte>& out, T const& value) {
        auto const bytes = std::as_bytes(std::span(&value, 1));
        out.insert(out.end(), bytes.begin(), bytes.end());
    }
    template <class T> static void answer(Peer& peer, MessageType type, std::uint32_t tag, T const& body) {
        put(peer.out, MessageHead{.type = type, .length_bytes = sizeof body, .tag = tag});
        put(peer.out, body);
    }
    template <class T> static T read(std::byte const* from) {
        T value;
        std::memcpy(&value, from, sizeof value);
        return value;
    }
    bool is_before_run() const { return options_.state != ReadoutState::running && !is_running_; }
    static bool hits(std::uint64_t number, std::uint64_t every) { return every != 0 && number % every == every - 1; }

    void run(std::stop_token const& stop) {
        while (!stop.stop_requested()) {
            for (auto const& ready : poller_.wait(2'000'000)) {
                if (ready.key == 0) {
                    accept();
                } else if (auto const found = peers_.find(ready.key); found != peers_.end()) {
                    if (!serve(found->second, ready)) drop(found->first);
                }
            }
            for (auto& [key, peer] : peers_) { // those that no further request completes
                answer_gathered(peer);
                flush(key, peer);
            }
        }
    }

    void accept() {
        while (auto accepted = transport::accept_from(listener_.socket)) {
            auto const key = ++keys_;
            poller_.add(accepted->socket.get(), key);
            peers_[key].socket = std::move(accepted->socket);
        }
    }

    void drop(std::uint64_t key) {
        for (auto const& [head, get] : peers_[key].gathered) asked_bytes_ -= get.max_bytes;
        poller_.remove(peers_[key].socket.get());
        peers_.erase(key);
    }

    bool serve(Peer& peer, transport::Ready const& ready) {
        std::array<std::byte, 65536> room;
        while (ready.readable || ready.broken) {
            auto const moved = transport::receive_some(peer.socket, room);
            peer.close |= moved.closed; // when what it said before is understood
            if (moved.bytes == 0) break;
            peer.in.insert(peer.in.end(), room.begin(), room.begin() + static_cast<std::ptrdiff_t>(moved.bytes));
        }
        std::size_t at = 0;
        while (peer.in.size() - at >= sizeof(MessageHead)) {
            auto const head = read<MessageHead>(&peer.in[at]);
            if (peer.in.size() - at < sizeof head + head.length_bytes) break;
            handle(peer, head, peer.in.data() + at + sizeof head);
            at += sizeof head + head.length_bytes;
        }
        peer.in.erase(peer.in.begin(), peer.in.begin() + static_cast<std::ptrdiff_t>(at));
        if (peer.gathered.size() >= options_.reorder) answer_gathered(peer);
        return flush(0, peer);
    }

    bool flush(std::uint64_t, Peer& peer) {
        while (peer.sent < peer.out.size()) {
            auto const moved = transport::send_some(peer.socket, std::span(peer.out).subspan(peer.sent));
            if (moved.closed) return false;
            if (moved.bytes == 0) return true; // the next turn goes on
            peer.sent += moved.bytes;
        }
        peer.out.clear();
        peer.sent = 0;
        return !peer.close;
    }

    void handle(Peer& peer, MessageHead const& head, std::byte const* body) {
        if (peer.is_cut) return;
        if (head.version != options_.version) return refuse_version(peer, head);
        if (head.type == MessageType::hello) {
            auto const hello = read<Hello>(body);
            std::string const token(reinterpret_cast<char const*>(body) + sizeof hello, hello.token_bytes);
            if (token != options_.token) {
                answer(peer, MessageType::refused, head.tag, Refused{Refusal::not_allowed, 0});
                return;
            }
            peer.client = {hello.client[0], hello.client[1]};
            auto const bytes = static_cast<std::uint32_t>(options_.sources.size() * (options_.payload_bytes + 80));
            answer(peer, MessageType::welcome, head.tag,
                   Welcome{instance_, options_.run - (is_before_run() ? 1 : 0),
                           static_cast<std::uint32_t>(options_.sources.size()), options_.first_event, end(),
                           static_cast<std::uint32_t>(options_.state), bytes, options_.lease_ns});
        }
        if (silent_ || options_.silent) return;
        if (head.type == MessageType::take) take(peer, head, read<Take>(body));
        if (head.type == MessageType::clear) clear(peer, head, body);
        if (head.type == MessageType::bye) {
            given_back_.insert(given_back_.end(), leased_.begin(), leased_.end());
            leased_.clear();
            peer.close = true;
        }
        if (head.type == MessageType::get) {
            auto const get = read<Get>(body);
            asked_bytes_ += get.max_bytes;
            most_asked_bytes_ = std::max<std::uint64_t>(most_asked_bytes_, asked_bytes_);
            peer.gathered.emplace_back(head, get);
        }
    }

    // Its answer is of its own version, as that of each handler.
    void refuse_version(Peer& peer, MessageHead const& head) {
        std::string const why = "this is another version";
        put(peer.out, MessageHead{.version = options_.version,
                                  .type = MessageType::refused,
                                  .length_bytes = static_cast<std::uint32_t>(sizeof(Refused) + why.size()),
                                  .tag = head.tag});
        put(peer.out, Refused{Refusal::malformed, 0});
        auto const words = std::as_bytes(std::span(why));
        peer.out.insert(peer.out.end(), words.begin(), words.end());
        peer.close = true;
    }

    void clear(Peer& peer, MessageHead const& head, std::byte const* body) {
        ++clear_messages_;
        bool const done = !options_.refuse_clears && !refuse_clears_;
        put(peer.out,
            MessageHead{.type = MessageType::cleared,
                        .length_bytes = static_cast<std::uint32_t>(head.length_bytes / sizeof(Clear) * sizeof(Cleared)),
                        .tag = head.tag});
        for (std::size_t at = 0; at < head.length_bytes; at += sizeof(Clear)) {
            auto const range = read<Clear>(body + at);
            if (done) {
                base::Lock const lock(mutex_);
                cleared_ += history_.contains(range.first) ? 0 : range.count;
                history_.add(range.first, range.first + range.count);
                std::erase_if(leased_, [&](auto const& it) { return it.first == range.first; });
            }
            put(peer.out, Cleared{range.first, range.count, done ? 1u : 0u});
        }
    }

    void take(Peer& peer, MessageHead const& head, Take const& take) {
        ++take_messages_;
        if (is_before_run()) { // nothing is left of the one before
            answer(peer, MessageType::taken, head.tag, Taken{.run = options_.run - 1, .ended = 1, .is_over = 1});
            return;
        }
        Taken taken{.first = next_, .run = options_.run, .continues = options_.continues, .is_over = over_};
        if (take.left_behind != 0) {
            taken.ended = !options_.goes_on;
            return answer(peer, MessageType::taken, head.tag, taken);
        }
        if (!given_back_.empty()) {
            taken.first = given_back_.back().first;
            taken.count = static_cast<std::uint32_t>(given_back_.back().second);
            taken.again = 1;
            given_back_.pop_back();
        } else {
            taken.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(take.count, end() - next_));
            if (options_.goes_on && taken.count < take.min_count) taken.count = 0;
            taken.ended = taken.count == 0 && !options_.goes_on ? 1 : 0;
            next_ = next_ + taken.count;
        }
        if (taken.count > 0) leased_.emplace_back(taken.first, taken.count);
        auto more = taken.count > 0 && taken.again == 0 ? (head.length_bytes - sizeof take) / sizeof(RangeSeal) : 0;
        more = std::min<std::uint64_t>(more, (end() - next_) / take.count);
        put(peer.out, MessageHead{.type = MessageType::taken,
                                  .length_bytes = static_cast<std::uint32_t>(sizeof taken + more * sizeof(TakenRange)),
                                  .tag = head.tag});
        put(peer.out, taken);
        for (; more > 0; --more) {
            put(peer.out, TakenRange{next_, take.count, 0});
            leased_.emplace_back(next_.load(), take.count);
            next_ = next_ + take.count;
        }
    }

    void answer_gathered(Peer& peer) {
        while (!peer.gathered.empty()) {
            auto const [head, get] = peer.gathered.back();
            peer.gathered.pop_back();
            asked_bytes_ -= get.max_bytes;
            // They are not counted: if as many requests as `cut_every` are repeated together, the first one would
            // always be cut.
            if (peer.is_cut) continue;
            ++answers_;
            if (!hits(answers_, options_.ignore_every)) send_events(peer, head.tag, get);
        }
    }

    void send_events(Peer& peer, std::uint32_t tag, Get const& get) {
        auto const run = options_.run + (is_in_next_run_ ? 1 : 0);
        if (get.run != run) {
            answer(peer, MessageType::refused, tag, Refused{Refusal::wrong_run, run});
            return;
        }
        auto const begin = peer.out.size();
        put(peer.out, MessageHead{.type = MessageType::events, .tag = tag});
        put(peer.out, EventsHead{});
        EventsHead events{.first = get.first, .next = get.first, .run = options_.run};
        bool const not_yet = not_yet_ || hits(answers_, options_.not_yet_every);
        while (events.count < std::min<std::uint64_t>(get.count, options_.most_events)) {
            auto const before = peer.out.size();
            add_event(peer.out, events.next, not_yet);
            if (events.count > 0 && peer.out.size() - begin - sizeof(MessageHead) > get.max_bytes) {
                peer.out.resize(before);
                break;
            }
            ++events.next;
            ++events.count;
        }
        if (hits(answers_, options_.lie_every)) peer.out.resize(peer.out.size() - 4);
        MessageHead const head{.type = MessageType::events,
                               .length_bytes =
                                   static_cast<std::uint32_t>(peer.out.size() - begin - sizeof(MessageHead)),
                               .tag = tag};
        std::memcpy(&peer.out[begin], &head, sizeof head);
        std::memcpy(&peer.out[begin + sizeof head], &events, sizeof events);
        if (hits(answers_, options_.cut_every)) {
            peer.out.resize(begin + (peer.out.size() - begin) / 2);
            peer.close = peer.is_cut = true;
        }
    }

    void add_event(std::vector<std::byte>& out, std::uint64_t event, bool not_yet) {
        EventRecord record{.event = event, .state = EventState::complete};
        if (hits(event, options_.incomplete_every)) record.state = EventState::incomplete;
        if (hits(event, options_.evicted_every)) record.state = EventState::evicted;
        if (hits(event, options_.absent_every)) record.state = EventState::absent;
        if (event < options_.first_event || event >= end()) record.state = EventState::absent;
        if (not_yet) record.state = EventState::not_yet;
        auto const at = out.size();
        put(out, record);
        if (record.state > EventState::incomplete) return;
        for (auto const source : options_.sources) add_fragment(out, event, source);
        record.bytes = static_cast<std::uint32_t>(out.size() - at - sizeof record);
        record.fragments = static_cast<std::uint16_t>(options_.sources.size());
        std::memcpy(&out[at], &record, sizeof record);
    }

    void add_fragment(std::vector<std::byte>& out, std::uint64_t event, std::uint32_t source) {
        if (options_.cheap) {
            auto& pattern = patterns_[source];
            if (pattern.empty()) pattern = make_fragment(options_.run, event, source, options_.payload_bytes);
            std::memcpy(pattern.data() + offsetof(FragmentHeader, event), &event, sizeof event);
            out.insert(out.end(), pattern.begin(), pattern.end());
            return;
        }
        auto fragment = make_fragment(options_.run, event + (hits(event, options_.wrong_event_every) ? 1 : 0), source,
                                      options_.payload_bytes, options_.checksum);
        if (hits(event, options_.wrong_marker_every)) fragment[0] ^= std::byte{0xFF};
        out.insert(out.end(), fragment.begin(), fragment.end());
    }

    TestHandlerOptions options_;
    std::uint64_t instance_ = 0;
    std::atomic<std::uint64_t> next_;
    std::atomic<std::uint64_t> cleared_ = 0;
    std::atomic<std::uint64_t> most_asked_bytes_ = 0;
    std::atomic<std::uint64_t> take_messages_ = 0;
    std::atomic<std::uint64_t> clear_messages_ = 0;
    std::atomic<bool> over_ = false, is_running_ = false, is_in_next_run_ = false, silent_ = false;
    std::atomic<bool> refuse_clears_ = false;
    std::atomic<bool> not_yet_ = false;
    mutable base::Mutex mutex_;
    History history_ THALWEG_GUARDED_BY(mutex_);
    std::uint64_t asked_bytes_ = 0;
    std::uint64_t answers_ = 0;
    std::uint64_t keys_ = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> leased_, given_back_;
    std::map<std::uint32_t, std::vector<std::byte>> patterns_;
    std::map<std::uint64_t, Peer> peers_;
    transport::Listener listener_;
    transport::Poller poller_;
    std::jthread thread_; // last: it uses all others
};

} // namespace thalweg::readout::testing
