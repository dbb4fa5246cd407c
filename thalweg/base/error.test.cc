#include "thalweg/base/error.h"

#include <cerrno>
#include <cstring>
#include <gtest/gtest.h>

namespace thalweg::base {
namespace {

template <class Kind, class Call> std::string text_of(Call const& call) {
    try {
        call();
    } catch (Kind const& error) {
        return error.what();
    }
    return "nothing was thrown";
}

TEST(Error, ProblemWhyAndSuggestionHaveOneGrammar) {
    EXPECT_EQ((Message{"cannot open run.h5", "it is locked", "wait"}).str(), "cannot open run.h5 (it is locked): wait");
    EXPECT_EQ((Message{"cannot open run.h5", "it is locked"}).str(), "cannot open run.h5 (it is locked)");
    EXPECT_EQ((Message{"cannot open run.h5", "", "wait"}).str(), "cannot open run.h5: wait");
    EXPECT_EQ((Message{"cannot open run.h5"}).str(), "cannot open run.h5");
}

TEST(Error, ANulCharacterIsShownAndEndsNoMessage) {
    try {
        fail_usage({std::string("field 'x\0y'", 11), "it holds a NUL character", "choose another name"});
    } catch (UsageError const& error) {
        EXPECT_STREQ(error.what(), "field 'x\\x00y' (it holds a NUL character): choose another name");
        return;
    }
    FAIL() << "nothing was thrown";
}

TEST(Error, EachKindIsThrownAsItselfAndIsAnError) {
    EXPECT_EQ(text_of<UsageError>([] { fail_usage({"a", "b"}); }), "a (b)");
    EXPECT_EQ(text_of<DataError>([] { fail_data({"a", "b"}); }), "a (b)");
    EXPECT_EQ(text_of<SystemError>([] { fail_system({"a", "b"}); }), "a (b)");
    EXPECT_THROW(fail_usage({"a"}), Error);
}

TEST(Error, AnErrnoIsTheReasonUnlessOneIsGiven) {
    EXPECT_EQ(text_of<SystemError>([] {
                  fail_system({"a", "", "c"}, ENOSPC);
              }),
              "a (" + std::string(std::strerror(ENOSPC)) + "): c");
    EXPECT_EQ(text_of<SystemError>([] { fail_system({"a", "full"}, ENOSPC); }), "a (full)");
    EXPECT_EQ(text_of<SystemError>([] { fail_system({"a"}); }), "a");
    try {
        fail_system({"a", "full"}, ENOSPC);
    } catch (SystemError const& error) {
        EXPECT_EQ(error.code, ENOSPC);
    }
}

} // namespace
} // namespace thalweg::base
