// The Arrow C data interface (https://arrow.apache.org/docs/format/CDataInterface.html): buffers of Python objects,
// handed to other libraries without copying them. What goes where is decided in thalweg/_values/to_arrow.py.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "bind.h"
#include "buffer.h"

// The interface defines these structs for all libraries that use it.
extern "C" {
struct ArrowSchema {
    char const* format;
    char const* name;
    char const* metadata;
    int64_t flags;
    int64_t n_children;
    ArrowSchema** children;
    ArrowSchema* dictionary;
    void (*release)(ArrowSchema*);
    void* private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    void const** buffers;
    ArrowArray** children;
    ArrowArray* dictionary;
    void (*release)(ArrowArray*);
    void* private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
    int (*get_next)(ArrowArrayStream*, ArrowArray*);
    char const* (*get_last_error)(ArrowArrayStream*);
    void (*release)(ArrowArrayStream*);
    void* private_data;
};
}

namespace thalweg::bind {
namespace {

namespace nb = nanobind;

using Objects = nb::typed<nb::sequence, nb::object>;

// A node of an array: its type as Arrow spells it, its buffers, its children.
struct Node {
    std::string format;
    std::string name;
    std::string metadata;
    std::int64_t length = 0;
    std::vector<Buffer> buffers;
    std::vector<std::shared_ptr<Node>> children;

    Node(std::string format_, std::string name_, nb::bytes const& metadata_, std::int64_t length_,
         Objects const& buffers_, Objects const& children_)
        : format(std::move(format_)), name(std::move(name_)), metadata(metadata_.c_str(), metadata_.size()),
          length(length_) {
        for (auto const buffer : buffers_) buffers.emplace_back(buffer);
        for (auto const child : children_) children.push_back(nb::cast<std::shared_ptr<Node>>(child));
    }
    Node(Node const&) = delete;
};

using NodePointer = std::shared_ptr<Node>;

// Another library may release an array at any time, even after the interpreter has ended; the system then frees memory.
void drop(NodePointer& node) {
    if (Py_IsInitialized() == 0) {
        static_cast<void>(new NodePointer(std::move(node)));
        return;
    }
    nb::gil_scoped_acquire const gil;
    node.reset();
}

template <typename Exported> struct Private {
    NodePointer node;
    std::vector<Exported> children;
    std::vector<Exported*> child_pointers;
    std::vector<void const*> buffers;
};

template <typename Exported> void release(Exported* exported) {
    std::unique_ptr<Private<Exported>> const owned(static_cast<Private<Exported>*>(exported->private_data));
    for (auto& child : owned->children) {
        if (child.release != nullptr) child.release(&child);
    }
    drop(owned->node);
    exported->release = nullptr;
}

void fill(NodePointer const& node, ArrowSchema& out, Private<ArrowSchema>&) {
    out.format = node->format.c_str();
    out.name = node->name.c_str();
    out.metadata = node->metadata.empty() ? nullptr : node->metadata.data();
}

void fill(NodePointer const& node, ArrowArray& out, Private<ArrowArray>& owned) {
    owned.buffers.push_back(nullptr); // there is no validity buffer, since no value is missing
    for (auto const& buffer : node->buffers) owned.buffers.push_back(buffer.bytes().data());
    out.length = node->length;
    out.n_buffers = static_cast<std::int64_t>(owned.buffers.size());
    out.buffers = owned.buffers.data();
}

template <typename Exported> void make(NodePointer const& node, Exported& out) {
    auto owned = std::make_unique<Private<Exported>>();
    owned->node = node;
    out = Exported{};
    fill(node, out, *owned);
    owned->children.resize(node->children.size());
    for (std::size_t i = 0; i < owned->children.size(); ++i) {
        make(node->children[i], owned->children[i]);
        owned->child_pointers.push_back(&owned->children[i]);
    }
    out.n_children = static_cast<std::int64_t>(owned->children.size());
    out.children = owned->child_pointers.data();
    out.release = release<Exported>;
    out.private_data = owned.release();
}

// A stream of one array.
struct Stream {
    NodePointer node;
    bool done = false;
};

void make_stream(NodePointer const& node, ArrowArrayStream& out) {
    out.get_schema = [](ArrowArrayStream* self, ArrowSchema* schema) {
        make(static_cast<Stream*>(self->private_data)->node, *schema);
        return 0;
    };
    out.get_next = [](ArrowArrayStream* self, ArrowArray* array) {
        auto& stream = *static_cast<Stream*>(self->private_data);
        *array = ArrowArray{};
        if (!std::exchange(stream.done, true)) make(stream.node, *array);
        return 0;
    };
    out.get_last_error = [](ArrowArrayStream*) -> char const* { return nullptr; };
    out.release = [](ArrowArrayStream* self) {
        std::unique_ptr<Stream> const stream(static_cast<Stream*>(self->private_data));
        drop(stream->node);
        self->release = nullptr;
    };
    out.private_data = new Stream{node};
}

template <typename Exported> nb::object capsule(std::unique_ptr<Exported> exported, char const* name) {
    auto* const result = PyCapsule_New(exported.get(), name, [](PyObject* self) {
        std::unique_ptr<Exported> const mine(
            static_cast<Exported*>(PyCapsule_GetPointer(self, PyCapsule_GetName(self))));
        if (mine->release != nullptr) mine->release(mine.get()); // no other library has taken it
    });
    if (result == nullptr) throw nb::python_error();
    exported.release();
    return nb::steal(result);
}

nb::object schema_capsule(NodePointer const& node) {
    auto schema = std::make_unique<ArrowSchema>();
    make(node, *schema);
    return capsule(std::move(schema), "arrow_schema");
}

nb::object array_capsule(NodePointer const& node) {
    auto array = std::make_unique<ArrowArray>();
    make(node, *array);
    return capsule(std::move(array), "arrow_array");
}

nb::object stream_capsule(NodePointer const& node) {
    auto stream = std::make_unique<ArrowArrayStream>();
    make_stream(node, *stream);
    return capsule(std::move(stream), "arrow_array_stream");
}

} // namespace

void bind_arrow(nb::module_& module) {
    nb::class_<Node>(module, "ArrowNode")
        .def(nb::init<std::string, std::string, nb::bytes const&, std::int64_t, Objects const&, Objects const&>(),
             nb::arg("format"), nb::arg("name"), nb::arg("metadata"), nb::arg("length"), nb::arg("buffers"),
             nb::arg("children"))
        .def("schema", [](NodePointer const& node) { return schema_capsule(node); })
        .def("array", [](NodePointer const& node) { return array_capsule(node); })
        .def("stream", [](NodePointer const& node) { return stream_capsule(node); });
}

} // namespace thalweg::bind
