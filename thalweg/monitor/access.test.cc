#include "thalweg/monitor/access.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace thalweg::monitor {
namespace {

TEST(HostNames, AddressesAndNamesOfThisMachineAreItsOwn) {
    HostNames const names({"dh0.readout.svc"}, "Daq7:7780");
    char own[256] = {};
    ASSERT_EQ(::gethostname(own, sizeof own - 1), 0);
    for (std::string const host :
         {"127.0.0.1", "127.0.0.1:7780", "10.1.2.3:80", "[::1]", "[::1]:7780", "[fe80::1:2]:1", "localhost",
          "LocalHost:7780", "localhost.:7780", "daq7", "DAQ7:1", "dh0.readout.svc", "DH0.Readout.svc.:7780"}) {
        EXPECT_TRUE(names.contain(host)) << host;
    }
    EXPECT_TRUE(names.contain(std::string(own) + ":7780"));
}

TEST(HostNames, AnyOtherNameIsForeign) {
    HostNames const names({"dh0.readout.svc"}, "127.0.0.1:7780");
    for (std::string const host : {"",
                                   ".",
                                   ":",
                                   ":7780",
                                   "evil.example",
                                   "evil.example:7780",
                                   "localhost.evil.example",
                                   "127.0.0.1.evil.example",
                                   "evillocalhost",
                                   "svc",
                                   "readout.svc",
                                   "x127.0.0.1",
                                   "127.0.0.1:77800000",
                                   "localhost:x",
                                   "localhost:7780:7780",
                                   "user@localhost",
                                   "localhost/",
                                   "localhost localhost",
                                   "[",
                                   "[]",
                                   "[::1",
                                   "[::1]x",
                                   "[::1]:x",
                                   "[evil.example]",
                                   "::1",
                                   "[localhost]",
                                   "[127.0.0.1]",
                                   "0x7f000001.evil",
                                   "daq7"}) {
        EXPECT_FALSE(names.contain(host)) << host;
    }
    EXPECT_FALSE(names.contain({"localhost\0.evil.example", 23}));
    EXPECT_FALSE(names.contain({"127.0.0.1\0.evil.example", 23}));
}

TEST(Bearer, NeedsTheWholeToken) {
    EXPECT_TRUE(is_bearer_of("open sesame", "Bearer open sesame"));
    EXPECT_TRUE(is_bearer_of("sesame", "bEARER sesame"));
    for (std::string const wrong : {"", "Bearer", "Bearer ", "Bearer sesam", "Bearer sesamesesame", "Bearer Sesame",
                                    "Basic sesame", "sesame", "Bearer  sesame", "Bearer\tsesame"}) {
        EXPECT_FALSE(is_bearer_of("sesame", wrong)) << wrong;
    }
    EXPECT_FALSE(is_bearer_of("", "Bearer ")) << "no token is no password";
}

} // namespace
} // namespace thalweg::monitor
