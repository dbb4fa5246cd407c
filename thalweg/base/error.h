// The three kinds of error, and the one grammar of their messages: "problem (why) suggestion".
#pragma once

#include <stdexcept>
#include <string>

namespace thalweg::base {

class Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// The request was wrong: the caller can mend it. Command line: exit code 2.
class UsageError : public Error {
  public:
    using Error::Error;
};

// The machine said no: a full disk, a failed write, a dead process. `code` is an errno, or 0 where there is none.
class SystemError : public Error {
  public:
    explicit SystemError(std::string const& message, int errno_code = 0) : Error(message), code(errno_code) {}
    int code;
};

// Whether an errno says that there is no room: on the disk, within a quota, or for a file of that size.
bool is_no_space(int code);

// The bytes are wrong: a damaged, truncated or foreign file.
class DataError : public Error {
  public:
    using Error::Error;
};

// What went wrong, why, and what to do about it. `why` and `suggestion` may be empty; `problem` names the file,
// table, column and row concerned.
struct Message {
    std::string problem;
    std::string why = {};
    std::string suggestion = {};

    std::string str() const;
};

[[noreturn]] void fail_usage(Message const& message);
[[noreturn]] void fail_data(Message const& message);

// `errno_code` is turned into the reason when `why` is empty.
[[noreturn]] void fail_system(Message const& message, int errno_code = 0);

} // namespace thalweg::base
