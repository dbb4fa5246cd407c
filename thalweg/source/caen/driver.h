// The functions of the vendor's library libCAEN_FELib.so that are used here, declared in our own words. The library is
// loaded at run time: nothing of it is needed to build this.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace thalweg::source::caen {

using Handle = std::uint64_t;

enum class Code : int {
    success = 0,
    invalid_parameter = -2,
    library_not_available = -10,
    timeout = -11, // normal: no event came
    stop = -12,    // normal: no event will come
};

// The name of a function without "CAEN_FELib_", and its arguments.
#define THALWEG_FELIB_FUNCTIONS(X)                                                                                     \
    X(GetLibVersion, (char* text))                                                                                     \
    X(GetErrorName, (int code, char* text))                                                                            \
    X(GetLastError, (char* text))                                                                                      \
    X(Open, (char const* address, Handle*))                                                                            \
    X(Close, (Handle))                                                                                                 \
    X(GetHandle, (Handle, char const* path, Handle*))                                                                  \
    X(GetValue, (Handle, char const* path, char* text))                                                                \
    X(SetValue, (Handle, char const* path, char const* value))                                                         \
    X(SendCommand, (Handle, char const* path))                                                                         \
    X(SetReadDataFormat, (Handle, char const* json))                                                                   \
    X(ReadData, (Handle, int timeout_ms, ...)) // pointers, in the order of the format

// NOLINTBEGIN(bugprone-macro-parentheses): it makes declarations
struct Functions {
#define THALWEG_FELIB_MEMBER(name, arguments) int(*name) arguments = nullptr;
    THALWEG_FELIB_FUNCTIONS(THALWEG_FELIB_MEMBER)
#undef THALWEG_FELIB_MEMBER
};
// NOLINTEND(bugprone-macro-parentheses)

// Loads the library, which stays loaded. Throws base::UsageError if it is not there, or lacks a function.
Functions load_driver(std::string const& library);

class DriverError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// A digitizer that is open. Its calls throw DriverError, and base::UsageError if it does not know a parameter.
class Connection {
  public:
    Connection(Functions const& functions, std::string const& address);
    Connection(Connection const&) = delete;
    Connection& operator=(Connection const&) = delete;
    ~Connection();

    std::string library_version() const;
    std::string get(std::string const& path) const;
    double number(std::string const& path) const;
    void set(std::string const& path, std::string const& value);
    void send(std::string const& command);
    // Also says in which order and types read() hands out an event.
    void choose_endpoint(std::string const& name, std::string const& format);
    // Returns whether there was an event; stop: none will come.
    template <class... Pointers> Code read(int timeout_ms, Pointers*... to) const {
        auto const code = functions_.ReadData(endpoint_, timeout_ms, to...);
        if (code != static_cast<int>(Code::timeout) && code != static_cast<int>(Code::stop))
            check("ReadData", "", code);
        return static_cast<Code>(code);
    }

  private:
    void check(char const* name, std::string const& about, int code) const;

    Functions functions_;
    Handle device_ = 0, endpoint_ = 0;
};

} // namespace thalweg::source::caen
