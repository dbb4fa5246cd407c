// Translates the three kinds of error into the exceptions of thalweg._base.errors.
#include "thalweg/base/error.h"
#include "thalweg/base/utf8.h"

#include "bind.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;

// A message may quote a name from a damaged file, which need not be UTF-8.
nb::str text_of(base::Error const& error) { return nb::str(base::readable(error.what()).c_str()); }

void set_error(char const* name, nb::object const& argument) {
    auto const type = nb::module_::import_("thalweg._base.errors").attr(name);
    PyErr_SetObject(type.ptr(), argument.ptr());
}

void translate(std::exception_ptr const& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (base::UsageError const& error) {
        set_error("UsageError", text_of(error));
    } catch (base::SystemError const& error) {
        set_error("SystemError", nb::make_tuple(error.code, text_of(error)));
    } catch (base::DataError const& error) {
        set_error("DataError", text_of(error));
    }
}

} // namespace

void bind_base(nb::module_&) { nb::register_exception_translator(translate); }

} // namespace thalweg::bind
