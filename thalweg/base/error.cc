#include "thalweg/base/error.h"

#include <cerrno>
#include <cstring>

namespace thalweg::base {

std::string Message::str() const {
    std::string text = problem;
    if (!why.empty()) text += " (" + why + ")";
    if (!suggestion.empty()) text += ": " + suggestion;
    // A name of a file or field may contain NUL, at which what() would end.
    for (auto at = text.find('\0'); at != std::string::npos; at = text.find('\0', at)) text.replace(at, 1, "\\x00");
    return text;
}

void fail_usage(Message const& message) { throw UsageError(message.str()); }

void fail_data(Message const& message) { throw DataError(message.str()); }

void fail_system(Message const& message, int errno_code) {
    Message complete = message;
    if (complete.why.empty() && errno_code != 0) complete.why = std::strerror(errno_code);
    throw SystemError(complete.str(), errno_code);
}

bool is_no_space(int code) { return code == ENOSPC || code == EDQUOT || code == EFBIG; }

} // namespace thalweg::base
