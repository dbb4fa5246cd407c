#include "bind.h"

NB_MODULE(_core, module) {
    using namespace thalweg::bind;
    nanobind::set_leak_warnings(false); // the system frees what Arrow still holds when the interpreter ends
    module.def(
        "version", [] { return THALWEG_VERSION; }, "The version that the C++ core was built as.");
    bind_base(module);
    bind_model(module);
    bind_tuning(module);
    bind_dataset(module);
    bind_status(module);
    bind_shared_run(module);
    bind_reading(module);
    bind_arrow(module);
    bind_source(module);
    bind_raw_source(module);
    bind_plug_in(module);
    bind_felix(module);
    bind_record(module);
    bind_inspect(module);
    bind_merge(module);
    bind_derive(module);
    bind_memory(module);
    bind_readout_handler(module);
    bind_readout_client(module);
    bind_pinning(module);
    bind_checkpoint(module);
    bind_spectra(module);
    bind_features(module);
}
