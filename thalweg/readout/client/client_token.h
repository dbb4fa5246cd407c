// The token of a client. If it comes from a file, that is read again when a handler refuses it: the token may be
// changed while the client runs, and handlers learn the new one one after the other.
#pragma once

#include <string>
#include <utility>

namespace thalweg::readout {

class ClientToken {
  public:
    // `path`: empty if it comes from no file.
    ClientToken(std::string token, std::string path) : now_(std::move(token)), path_(std::move(path)) {}

    std::string const& now() const { return now_; }
    std::string const& path() const { return path_; }
    bool has_changed() const { return !before_.empty(); }
    // Returns true if the file has another token than it had before. A file that cannot be read, is empty, or has a
    // token that no handler takes, has none.
    bool read_again();
    // Says that a handler has accepted `token`: it is kept when the file has another one.
    void accepted(std::string const& token) { now_was_accepted_ |= token == now_; }
    // Returns what to try with a handler that refuses `refused`: the token of the file, or the one before it, because
    // the handler may have been started before the change. A token that no handler has accepted does not become the one
    // before: a file that is written in place may have been read while it had half of it.
    std::string const& instead_of(std::string const& refused) const {
        return refused == now_ && has_changed() ? before_ : now_;
    }

  private:
    std::string now_, before_;
    std::string path_;
    bool now_was_accepted_ = false;
};

} // namespace thalweg::readout
