#include <cstdlib>
#include <fstream>
#include <memory>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "thalweg/readout/client/testing.h"

namespace thalweg::readout {
namespace {

using namespace testing;

enum : int { passed, failed, not_possible };

// The names of hosts that this process sees, in a mount namespace of its own.
class OwnHosts {
  public:
    OwnHosts() : path_(::testing::TempDir() + "hosts-" + std::to_string(::getpid())) {
        call("127.0.0.1");
        is_possible_ = ::unshare(CLONE_NEWNS) == 0 &&
                       ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                       ::mount(path_.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) == 0;
    }
    ~OwnHosts() { ::unlink(path_.c_str()); }

    bool is_possible() const { return is_possible_; }
    // From now on the name of the handler is that of this address.
    void call(std::string const& address) const { std::ofstream(path_) << address << " handler-that-moves\n"; }

  private:
    std::string path_;
    bool is_possible_ = false;
};

int collect_from_a_handler_that_moves() {
    OwnHosts const hosts;
    if (!hosts.is_possible()) return not_possible;
    auto one = std::make_unique<TestHandler>(TestHandlerOptions{.events = 5000, .goes_on = true});
    auto const at = transport::parse_address(one->address());
    auto options = options_for({one.get()});
    options.handlers = {"handler-that-moves:" + std::to_string(at.port())};
    options.give_up_ns = 20'000'000'000;
    Client client(options);
    std::uint64_t seen = 0;
    client.run({.event =
                    [&](Event const&) {
                        if (++seen == 3000) one.reset();
                        if (one) return;
                        TestHandlerOptions const anew{.first_event = 3990, .events = 2010, .continues = true};
                        hosts.call("127.0.0.2");
                        one = std::make_unique<TestHandler>(anew, "127.0.0.2:" + std::to_string(at.port()));
                    },
                .end_of_range = [&](RangeId const& range) { client.commit(range); }});
    return client.counters().events == 5000 ? passed : failed;
}

TEST(Client, FindsAHandlerThatComesBackAtAnotherAddress) {
    auto const child = ::fork();
    if (child == 0) {
        try {
            ::_exit(collect_from_a_handler_that_moves());
        } catch (std::exception const& error) {
            std::fputs(error.what(), stderr);
            ::_exit(failed);
        }
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == not_possible) GTEST_SKIP() << "this user may not make a mount namespace";
    EXPECT_EQ(WEXITSTATUS(status), passed);
}

} // namespace
} // namespace thalweg::readout
