#include <atomic>
#include <fstream>

#include "thalweg/base/error.h"
#include "thalweg/readout/client/testing.h"

namespace thalweg::readout {
namespace {

using namespace testing;

struct TokenFile {
    explicit TokenFile(std::string const& token) { write(token); }
    ~TokenFile() { std::remove(path.c_str()); }
    void write(std::string const& token) const { std::ofstream(path) << token << "\nmore\n"; }
    std::string path = ::testing::TempDir() + "client-token-" + std::to_string(::getpid());
};

TestHandlerOptions with_token(std::string const& token, std::uint32_t source) {
    return {.events = 1 << 20, .sources = {source}, .goes_on = true, .continues = true, .token = token};
}

// Runs a client of two handlers. `changes` are done one after the other, each when 500 more events have come.
ClientCounters collect(std::unique_ptr<TestHandler> const& one, std::unique_ptr<TestHandler> const& two,
                       ClientOptions const& more, std::vector<std::function<void()>> const& changes) {
    auto options = options_for({one.get(), two.get()});
    options.token = "first";
    options.token_file = more.token_file;
    options.token_ns = more.token_ns;
    std::uint64_t events = 0;
    std::size_t done = 0;
    Client client(options);
    client.run({.event = [&](Event const&) { ++events; },
                .end_of_range = [&](RangeId const& range) { client.commit(range); },
                .idle =
                    [&] {
                        if (events < 500 * (done + 1)) return;
                        if (done == changes.size()) return client.stop();
                        changes[done++]();
                    }});
    return client.counters();
}

void restart(std::unique_ptr<TestHandler>& handler, TestHandlerOptions options) {
    auto const address = handler->address();
    options.first_event += handler->given();
    handler.reset();
    handler = std::make_unique<TestHandler>(options, address);
}

TEST(ClientToken, AFileWithAnotherTokenIsReadAgainWhileHandlersLearnItOneByOne) {
    TokenFile const file("first");
    auto one = std::make_unique<TestHandler>(with_token("first", 1));
    auto two = std::make_unique<TestHandler>(with_token("first", 2));
    auto const counters =
        collect(one, two, {.token_file = file.path},
                {
                    [&] { file.write("second"), restart(two, with_token("second", 2)); },
                    [&] { restart(one, with_token("first", 1)); }, [&] { restart(one, with_token("second", 1)); },
                    [&] { restart(two, with_token("first", 2)); }, // as it was before
                });
    EXPECT_EQ(counters.tokens_read, 1u);
    EXPECT_EQ(counters.incomplete, 0u);
    EXPECT_GE(counters.complete, 2500u);
}

TEST(ClientToken, AFileThatComesLaterThanItsHandlerIsWaitedFor) {
    TokenFile const file("first");
    auto one = std::make_unique<TestHandler>(with_token("first", 1));
    auto two = std::make_unique<TestHandler>(with_token("first", 2));
    std::jthread writer;
    auto const counters = collect(one, two, {.token_file = file.path}, {[&] {
                                      restart(two, with_token("second", 2));
                                      writer = std::jthread([&] { base::sleep_ns(100'000'000), file.write("second"); });
                                  }});
    EXPECT_EQ(counters.tokens_read, 1u);
}

// A file that is written in place may be read while it has half of the token, which no handler accepts.
TEST(ClientToken, OneThatIsReadHalfDoesNotReplaceTheOneThatHandlersAccepted) {
    TokenFile const file("first");
    auto one = std::make_unique<TestHandler>(with_token("first", 1));
    auto two = std::make_unique<TestHandler>(with_token("first", 2));
    std::jthread writer;
    auto const counters = collect(one, two, {.token_file = file.path, .token_ns = 5'000'000'000},
                                  {
                                      [&] {
                                          file.write("sec"), restart(two, with_token("second", 2));
                                          writer =
                                              std::jthread([&] { base::sleep_ns(200'000'000), file.write("second"); });
                                      },
                                      [&] { restart(two, with_token("first", 2)); }, // as it was before
                                  });
    EXPECT_EQ(counters.tokens_read, 2u);
    EXPECT_EQ(counters.incomplete, 0u);
}

TEST(ClientToken, AHandlerThatRefusesItForTooLongEndsTheRun) {
    TokenFile const file("first");
    auto one = std::make_unique<TestHandler>(with_token("first", 1));
    auto two = std::make_unique<TestHandler>(with_token("first", 2));
    std::function<void()> const change = [&] { restart(two, with_token("third", 2)); };
    try {
        collect(one, two, {.token_file = file.path, .token_ns = 100'000'000}, {change});
        FAIL();
    } catch (base::UsageError const& error) {
        EXPECT_NE(std::string(error.what()).find("handler " + two->address() + " refuses this client"),
                  std::string::npos)
            << error.what();
    }
}

TEST(ClientToken, OneThatWasWrongFromTheBeginningIsNotTriedAgain) {
    TokenFile const file("first");
    auto one = std::make_unique<TestHandler>(with_token("other", 1));
    auto two = std::make_unique<TestHandler>(with_token("other", 2));
    EXPECT_THROW(collect(one, two, {.token_file = file.path}, {}), base::UsageError);
}

} // namespace
} // namespace thalweg::readout
