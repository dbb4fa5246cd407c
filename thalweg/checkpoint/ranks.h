// Short names for what ranks use to agree.
#pragma once

#include "thalweg/ranks/agreement.h"
#include "thalweg/ranks/communicator.h"

namespace thalweg::checkpoint {

using ranks::agree;
using ranks::alone;
using ranks::Bytes;
using ranks::Communicator;
using ranks::Json;

} // namespace thalweg::checkpoint
