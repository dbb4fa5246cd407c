// Watches whether the file of an open run is still where it is said to be: it may be removed or moved meanwhile, and
// nothing that is written into an open file ever fails for that.
#pragma once

#include <string>

#include "thalweg/base/file_descriptor.h"

namespace thalweg::dataset {

class FileWatch {
  public:
    // Both are there. They are kept open, so that what is in them can be had until this process ends.
    FileWatch(std::string path, std::string journal_path);

    // Empty: all is well. Otherwise what has happened to the data and how they can still be had. Costs a look at a
    // name.
    std::string problem() const;

  private:
    std::string path_;
    std::string journal_path_;
    base::FileDescriptor file_;
    base::FileDescriptor journal_;
};

} // namespace thalweg::dataset
