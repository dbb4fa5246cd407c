#include "thalweg/transport/address.h"

#include <gtest/gtest.h>
#include <netinet/in.h>

#include "thalweg/base/error.h"

namespace thalweg::transport {
namespace {

std::string refusal(std::string_view text) {
    try {
        parse_address(text);
    } catch (base::UsageError const& error) {
        return error.what();
    }
    return "";
}

TEST(Address, IsReadAndWrittenAlike) {
    for (auto const* text : {"127.0.0.1:7700", "0.0.0.0:0", "[::1]:7700", "[::]:65535", "[fe80::1:2]:1",
                             "unix:/run/dh0.sock", "unix:dh0:1"}) {
        EXPECT_EQ(parse_address(text).str(), text);
    }
    EXPECT_EQ(parse_address("[0:0:0:0:0:0:0:1]:80").str(), "[::1]:80");
    EXPECT_EQ(parse_address("[::1]:7700").port(), 7700);
    EXPECT_EQ(parse_address("10.1.2.3:65535").port(), 65535);
    EXPECT_EQ(Address{}.str(), "nowhere");
}

TEST(Address, APortAloneAndLocalhostAreTheSamePlace) {
    EXPECT_EQ(parse_address("7700").str(), "127.0.0.1:7700");
    EXPECT_EQ(parse_address("localhost:7700").str(), "127.0.0.1:7700");
}

TEST(Address, WhatIsNoneIsRefusedWithAReasonAndAForm) {
    for (auto const* text : {"", ":", "host:", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+1",
                             "127.0.0.1: 1", "127.0.0.1:9x", "127.0.0.1", "::1"}) {
        EXPECT_NE(refusal(text).find("HOST:PORT"), std::string::npos) << text;
    }
    EXPECT_NE(refusal("::1:7700").find("brackets"), std::string::npos);
    EXPECT_NE(refusal("[localhost]:7700").find("brackets"), std::string::npos);
    EXPECT_NE(refusal(":7700").find("0.0.0.0"), std::string::npos);
    EXPECT_FALSE(refusal(std::string_view("a\0b:1", 5)).empty()) << "and not what comes before the zero";
}

TEST(Address, OfAUnixSocketHasAPathAndNoHost) {
    EXPECT_TRUE(parse_address("unix:/run/dh0.sock").is_local());
    EXPECT_FALSE(parse_address("127.0.0.1:1").is_local());
    EXPECT_FALSE(names_host("unix:/run/dh0.sock")) << "it does not move";
    EXPECT_EQ(parse_address("unix:/run/dh0.sock").port(), 0);
    EXPECT_NE(refusal("unix:").find("cannot be a socket"), std::string::npos);
    EXPECT_NE(refusal("unix:/" + std::string(120, 'x')).find("choose a shorter path"), std::string::npos);
    EXPECT_FALSE(Networks({"0.0.0.0/0", "::/0"}).contain(parse_address("unix:/run/dh0.sock")));
}

TEST(Address, AnUnknownHostIsNamed) {
    try {
        parse_address("no-such-host.invalid:7700");
        FAIL();
    } catch (base::SystemError const& error) {
        EXPECT_NE(std::string(error.what()).find("no-such-host.invalid"), std::string::npos);
    }
}

TEST(Networks, HoldWhatBeginsAlike) {
    Networks const networks({"10.0.0.0/8", "192.168.1.7", "172.16.128.0/17", "::1/128", "fd00::/9"});
    for (auto const* inside : {"10.0.0.0:1", "10.255.1.2:1", "192.168.1.7:1", "172.16.200.1:1", "[::1]:1",
                               "[fd7f::5]:1", "[::ffff:10.9.9.9]:1"}) {
        EXPECT_TRUE(networks.contain(parse_address(inside))) << inside;
    }
    for (auto const* outside : {"11.0.0.0:1", "192.168.1.6:1", "172.16.127.255:1", "127.0.0.1:1", "[::2]:1",
                                "[fd80::]:1", "[::ffff:11.9.9.9]:1", "[::10.9.9.9]:1"}) {
        EXPECT_FALSE(networks.contain(parse_address(outside))) << outside;
    }
    EXPECT_FALSE(networks.contain(Address{}));
}

TEST(Networks, OfAllAndOfNone) {
    EXPECT_TRUE(Networks({"0.0.0.0/0"}).contain(parse_address("8.8.8.8:53")));
    EXPECT_FALSE(Networks({"0.0.0.0/0"}).contain(parse_address("[2001:db8::1]:53")));
    EXPECT_TRUE(Networks({"::/0"}).contain(parse_address("[2001:db8::1]:53")));
    EXPECT_FALSE(Networks({}).contain(parse_address("127.0.0.1:1")));
}

TEST(Networks, MappedOnesMeanIPv4) {
    Networks const networks({"::ffff:10.0.0.0/104"});
    EXPECT_TRUE(networks.contain(parse_address("10.2.3.4:1")));
    EXPECT_FALSE(networks.contain(parse_address("11.2.3.4:1")));
}

TEST(Networks, WhatIsNoneIsRefused) {
    for (auto const* text : {"", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8", "::1/129", "localhost",
                             "10.0.0.0/8/8", "[::1]", "10.0.0.0/8 "}) {
        EXPECT_THROW(Networks({text}), base::UsageError) << text;
    }
}

} // namespace
} // namespace thalweg::transport
