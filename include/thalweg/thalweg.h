// All that programs that use Thalweg need: runs are created (Writer), written by threads (Producer, StructProducer,
// WorkUnit) and by other processes (attach), completed (close, recover) and read (RunReader, Follower), and event loops
// fill several at once (run_event_loop). Checkpoints have headers of their own, in thalweg/checkpoint.
#pragma once

#if __cplusplus < 202002L
#error "Thalweg needs C++20: compile with -std=c++20 or newer"
#else

#include "thalweg/base/error.h"
#include "thalweg/dataset/append/producer.h"
#include "thalweg/dataset/append/struct_producer.h"
#include "thalweg/dataset/append/work_unit.h"
#include "thalweg/dataset/complete/complete.h"
#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/complete/snapshot.h"
#include "thalweg/dataset/merge/merge.h"
#include "thalweg/dataset/read/follower.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/read/verify.h"
#include "thalweg/dataset/run/attach.h"
#include "thalweg/dataset/run_reader.h"
#include "thalweg/dataset/writer.h"
#include "thalweg/derive/event_loop.h"
#include "thalweg/model/schema.h"
#include "thalweg/tuning/knobs.h"

#endif
