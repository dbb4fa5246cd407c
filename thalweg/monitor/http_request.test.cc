#include "thalweg/monitor/http_request.h"

#include <gtest/gtest.h>
#include <random>

namespace thalweg::monitor {
namespace {

constexpr std::size_t kLimit = 8192;

TEST(HttpRequest, AsCurlAndPrometheusSendIt) {
    auto const parsed = parse_request("GET /metrics?x=1 HTTP/1.1\r\nHost: localhost:7700\r\nUser-Agent: curl/7.88.1\r\n"
                                      "Accept: */*\r\n\r\n",
                                      kLimit);
    ASSERT_TRUE(parsed.request);
    EXPECT_EQ(parsed.request->method, "GET");
    EXPECT_EQ(parsed.request->path, "/metrics");
    EXPECT_TRUE(parsed.request->body.empty());
    EXPECT_FALSE(parsed.request->from_web_page);
    EXPECT_TRUE(parse_request("GET / HTTP/1.0\r\n\r\n", kLimit).request) << "no header at all";
}

TEST(HttpRequest, WithABody) {
    auto const parsed = parse_request("POST /control/start HTTP/1.1\r\ncontent-LENGTH:  5 \r\n"
                                      "Origin: http://elsewhere\r\n\r\nrun 7 and more",
                                      kLimit);
    ASSERT_TRUE(parsed.request);
    EXPECT_EQ(parsed.request->body, "run 7");
    EXPECT_TRUE(parsed.request->from_web_page);
}

TEST(HttpRequest, EveryBeginningWantsMore) {
    std::string const whole = "POST /control/start HTTP/1.1\r\nContent-Length: 5\r\nA: b\r\n\r\nhello";
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_EQ(parse_request(whole.substr(0, size), kLimit).status, 0) << size;
    }
    EXPECT_EQ(parse_request(whole, kLimit).status, 200);
}

TEST(HttpRequest, WhatIsNoneIsRefused) {
    for (std::string const text : {"\x16\x03\x01",
                                   "get / HTTP/1.1\r\n\r\n",
                                   " GET / HTTP/1.1\r\n\r\n",
                                   "GET\r\n\r\n",
                                   "GET /\r\n\r\n",
                                   "GET x HTTP/1.1\r\n\r\n",
                                   "GET / HTTP/2\r\n\r\n",
                                   "GET /  HTTP/1.1\r\n\r\n",
                                   "GET / HTTP/1.1 \r\n\r\n",
                                   "GET /\x01 HTTP/1.1\r\n\r\n",
                                   "GET / HTTP/1.1\r\nno colon\r\n\r\n",
                                   "GET / HTTP/1.1\r\n: x\r\n\r\n",
                                   "GET / HTTP/1.1\r\nA : x\r\n\r\n",
                                   "GET / HTTP/1.1\r\nA: x\r\n y\r\n\r\n",
                                   "GET / HTTP/1.1\r\nA: x\ny: z\r\n\r\n",
                                   "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                                   "POST / HTTP/1.1\r\nContent-Length: 1e3\r\n\r\n",
                                   "POST / HTTP/1.1\r\nContent-Length: \r\n\r\n",
                                   "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
                                   "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
                                   "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"}) {
        auto const parsed = parse_request(text, kLimit);
        EXPECT_EQ(parsed.status, 400) << text;
        EXPECT_FALSE(parsed.why.empty()) << text;
        EXPECT_FALSE(parsed.request) << text;
    }
}

TEST(HttpRequest, TooLargeIsRefusedAsSoonAsItIsKnown) {
    EXPECT_EQ(parse_request("GET /" + std::string(kLimit - 5, 'a'), kLimit).status, 413);
    EXPECT_EQ(parse_request("GET /" + std::string(kLimit - 6, 'a'), kLimit).status, 0);
    EXPECT_EQ(parse_request("POST / HTTP/1.1\r\nContent-Length: 8192\r\n\r\n", kLimit).status, 413);
    EXPECT_EQ(parse_request("POST / HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n", kLimit).status, 413);
}

// Pieces of requests in any order, and bytes of any value between them.
TEST(HttpRequest, ADecisionStays) {
    std::mt19937 random(7);
    char const* const pieces[] = {"GET",
                                  " ",
                                  "/",
                                  "HTTP/1.1",
                                  "\r\n",
                                  "\r\n\r\n",
                                  "Content-Length",
                                  ":",
                                  "12",
                                  "POST /a HTTP/1.1\r\n",
                                  "A: b\r\n",
                                  "\n",
                                  "\r",
                                  "99999",
                                  "Origin: x\r\n"};
    for (int i = 0; i < 5'000; ++i) {
        std::string text;
        for (auto count = random() % 12; count > 0; --count) {
            text += random() % 8 ? std::string(pieces[random() % std::size(pieces)])
                                 : std::string(1, static_cast<char>(random()));
        }
        int decided = 0;
        for (std::size_t size = 0; size <= text.size(); ++size) {
            int const status = parse_request(std::string_view(text).substr(0, size), 64).status;
            ASSERT_TRUE(decided == 0 || status == decided) << text;
            decided = status;
        }
    }
}

} // namespace
} // namespace thalweg::monitor
