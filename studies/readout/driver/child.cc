#include "studies/readout/driver/child.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "thalweg/base/error.h"

namespace thalweg::study {
namespace {

struct Pipe {
    base::FileDescriptor read, write;
};

Pipe make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) base::fail_system({"cannot make a pipe"}, errno);
    return {base::FileDescriptor(ends[0]), base::FileDescriptor(ends[1])};
}

[[noreturn]] void work_and_exit(std::function<Json(StopSign const&)> const& work, int stop, int result) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    int code = 0;
    std::string text;
    try {
        text = work(StopSign(stop)).dump();
    } catch (std::exception const& error) {
        text = error.what();
        code = 1;
    }
    if (::write(result, text.data(), text.size()) != static_cast<ssize_t>(text.size())) code = 1;
    ::_exit(code);
}

} // namespace

std::string StopSign::wait_for_line() const {
    std::string line;
    char letter = 0;
    while (::read(fd_, &letter, 1) == 1 && letter != '\n') line += letter;
    return line;
}

std::jthread StopSign::call(std::function<void()> const& stop) const {
    return std::jthread([this, stop](std::stop_token const& over) {
        while (!over.stop_requested()) {
            if (shown()) return stop();
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    });
}

bool StopSign::shown() const {
    pollfd ended{fd_, POLLIN, 0};
    return ::poll(&ended, 1, 0) != 0;
}

Child::Child(std::function<Json(StopSign const&)> const& work) {
    auto stop = make_pipe();
    auto result = make_pipe();
    pid_ = ::fork();
    if (pid_ < 0) base::fail_system({"cannot start a process"}, errno);
    if (pid_ == 0) {
        stop.write.reset();
        result.read.reset();
        work_and_exit(work, stop.read.get(), result.write.get());
    }
    stop_ = std::move(stop.write);
    result_ = std::move(result.read);
}

// After a failure the process that reads may still clean up.
Child::~Child() {
    stop_.reset();
    for (int i = 0; i < 200 && pid_ > 0; ++i) {
        if (::waitpid(pid_, nullptr, WNOHANG) != 0) pid_ = -1;
        std::this_thread::sleep_for(std::chrono::milliseconds(pid_ > 0 ? 10 : 0));
    }
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    wait();
}

void Child::tell(std::string const& line) {
    auto const text = line + "\n";
    if (::write(stop_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        base::fail_system({"cannot tell a process of the measurement anything"}, errno);
    }
}

Json Child::finish() {
    stop_.reset();
    std::string text;
    std::array<char, 4096> piece;
    for (ssize_t bytes = 0; (bytes = ::read(result_.get(), piece.data(), piece.size())) > 0;) {
        text.append(piece.data(), static_cast<std::size_t>(bytes));
    }
    wait();
    auto const result = Json::parse(text, nullptr, false);
    if (result.is_discarded()) base::fail_system({"a process of the measurement failed", text});
    return result;
}

void Child::wait() {
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

} // namespace thalweg::study
