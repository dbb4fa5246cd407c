// The three kinds of error become the exceptions of thalweg._errors.
#include "thalweg/base/error.h"

#include "bind.h"

namespace thalweg::bind {
namespace {

namespace nb = nanobind;

void set_error(char const* name, nb::object const& argument) {
    auto const type = nb::module_::import_("thalweg._errors").attr(name);
    PyErr_SetObject(type.ptr(), argument.ptr());
}

void translate(std::exception_ptr const& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (base::UsageError const& error) {
        set_error("UsageError", nb::str(error.what()));
    } catch (base::SystemError const& error) {
        set_error("SystemError", nb::make_tuple(error.code, error.what()));
    } catch (base::DataError const& error) {
        set_error("DataError", nb::str(error.what()));
    }
}

} // namespace

void bind_base(nb::module_&) { nb::register_exception_translator(translate); }

} // namespace thalweg::bind
