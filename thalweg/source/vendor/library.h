// A library of a vendor that is loaded at run time: nothing of it is needed to build this.
#pragma once

#include <string>

namespace thalweg::source::vendor {

// It stays loaded.
class Library {
  public:
    // `product` is what the vendor calls the least version, for messages. Throws base::UsageError if it is not there.
    Library(std::string name, std::string product);

    // Throws base::UsageError if the library does not have it.
    template <class Function> void find(std::string const& name, Function& function) const {
        function = reinterpret_cast<Function>(symbol(name)); // dlsym returns functions as objects
    }

  private:
    void* symbol(std::string const& name) const;

    std::string name_, product_;
    void* handle_;
};

} // namespace thalweg::source::vendor
