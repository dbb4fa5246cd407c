// One function a file: each adds to thalweg._core what its C++ folder has. No logic: the package is python/thalweg.
// `exact_rows` alone looks at values, since one row would else cost more in Python than in all of the core.
#pragma once

#include <nanobind/nanobind.h>

namespace thalweg::bind {

void bind_base(nanobind::module_& module);
void bind_model(nanobind::module_& module);
void bind_tuning(nanobind::module_& module);
void bind_dataset(nanobind::module_& module);
void bind_status(nanobind::module_& module);
void bind_shared_run(nanobind::module_& module);
void bind_reading(nanobind::module_& module);
void bind_arrow(nanobind::module_& module);
void bind_source(nanobind::module_& module);
void bind_raw_source(nanobind::module_& module);
void bind_plug_in(nanobind::module_& module);
void bind_felix(nanobind::module_& module);
void bind_record(nanobind::module_& module);
void bind_inspect(nanobind::module_& module);
void bind_merge(nanobind::module_& module);
void bind_derive(nanobind::module_& module);
void bind_memory(nanobind::module_& module);
void bind_readout_handler(nanobind::module_& module);
void bind_readout_client(nanobind::module_& module);
void bind_pinning(nanobind::module_& module);
void bind_checkpoint(nanobind::module_& module);
void bind_spectra(nanobind::module_& module);
void bind_features(nanobind::module_& module);

} // namespace thalweg::bind
