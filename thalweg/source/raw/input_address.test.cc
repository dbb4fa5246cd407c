#include "thalweg/source/raw/input_address.h"

#include <gtest/gtest.h>

#include "thalweg/base/error.h"

namespace thalweg::source::raw {
namespace {

using Kind = InputAddress::Kind;

std::string refusal(std::string const& text) {
    try {
        parse_input(text);
    } catch (base::UsageError const& error) {
        return error.what();
    }
    return "";
}

TEST(InputAddress, NamesTheKindByItsBeginning) {
    EXPECT_EQ(parse_input("rows.dat").kind, Kind::file);
    EXPECT_EQ(parse_input("/a?b=c").place, "/a?b=c");
    EXPECT_EQ(parse_input("fd:3").descriptor, 3);
    EXPECT_EQ(parse_input("tcp://daq:7000").place, "daq:7000");
    EXPECT_EQ(parse_input("unix:/run/rows").kind, Kind::unix_socket);
    EXPECT_EQ(parse_input("listen:0.0.0.0:7000").place, "0.0.0.0:7000");
    EXPECT_EQ(parse_input("udp://[::]:7000").kind, Kind::udp);
}

TEST(InputAddress, HasOptionsBehindAQuestionMark) {
    auto const udp = parse_input("udp://0.0.0.0:7000?peer=10.0.0.2:9&buffer=8MiB");
    EXPECT_EQ(udp.place, "0.0.0.0:7000");
    EXPECT_EQ(udp.peer, "10.0.0.2:9");
    EXPECT_EQ(udp.buffer_bytes, 8u << 20);
    EXPECT_EQ(parse_input("listen:7000?reconnect=always").reconnect, InputAddress::Reconnect::always);
}

TEST(InputAddress, WhatIsWrongIsNamed) {
    EXPECT_NE(refusal("udp://h:1?per=x").find("did you mean 'peer'"), std::string::npos) << refusal("udp://h:1?per=x");
    EXPECT_NE(refusal("tcp://h:1?peer=x").find("no option 'peer'"), std::string::npos);
    EXPECT_NE(refusal("tcp://h:1?reconnect=no").find("never, after-reset or always"), std::string::npos);
    EXPECT_NE(refusal("http://h:1").find("http://"), std::string::npos);
    for (auto const* const text : {"", "fd:", "fd:x", "tcp://", "udp://h:1?peer"}) EXPECT_NE(refusal(text), "") << text;
}

} // namespace
} // namespace thalweg::source::raw
