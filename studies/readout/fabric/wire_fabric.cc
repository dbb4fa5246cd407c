#include "studies/readout/fabric/wire.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <vector>

namespace thalweg::study {
namespace {

constexpr auto kVersion = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
constexpr char const* kHost = "127.0.0.1";

long checked(long result, char const* what) {
    if (result < 0) throw WireError(std::string(what) + ": " + fi_strerror(static_cast<int>(-result)));
    return result;
}

struct Closer {
    template <typename Object> void operator()(Object* object) const { fi_close(&object->fid); }
};
template <typename Object> using Owned = std::unique_ptr<Object, Closer>;

struct InfoFreer {
    void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, InfoFreer>;

struct Operation {
    fi_context2 context; // first: libfabric returns its address
    unsigned connection = 0;
    std::vector<std::byte> input; // of a receive
    std::span<std::byte const> output;
};

class FabricWire final : public Wire {
  public:
    FabricWire(std::string provider, bool messages, Plan const& plan)
        : provider_(std::move(provider)), messages_(messages), plan_(plan), peers_(plan.connections, FI_ADDR_UNSPEC) {
        endpoints_.resize(plan.connections);
    }
    // Endpoints go before the operations that they may still know.
    ~FabricWire() override {
        endpoints_.clear();
        shared_.reset();
        listener_.reset();
    }

    std::string listen() override {
        open(FI_SOURCE, has_ports() ? "0" : nullptr);
        if (messages_) {
            fid_pep* listener = nullptr;
            checked(fi_passive_ep(fabric_.get(), info_.get(), &listener, nullptr), "fi_passive_ep");
            listener_.reset(listener);
            checked(fi_pep_bind(listener, &events_->fid, 0), "fi_pep_bind");
            checked(fi_listen(listener), "fi_listen");
            return name_of(&listener->fid);
        }
        shared_ = make_endpoint(info_.get());
        for (unsigned i = 0; i < plan_.connections + plan_.in_flight + 16; ++i)
            receive(shared_.get(), 0, kRequestBytes);
        return name_of(&shared_->fid);
    }

    void prepare(std::string const& address) override {
        std::string port;
        if (has_ports()) port = std::to_string(ntohs(reinterpret_cast<sockaddr_in const*>(address.data())->sin_port));
        open(0, has_ports() ? port.c_str() : nullptr);
        if (!messages_) server_ = insert(address.data());
    }

    void connect(unsigned number) override {
        auto* const endpoint = adopt(number, info_.get(), plan_.response_bytes);
        if (messages_) {
            checked(fi_connect(endpoint, info_->dest_addr, nullptr, 0), "fi_connect");
        } else {
            peers_[number] = server_;
            connected_.push_back(number);
        }
    }

    std::string address_of(unsigned number) override {
        return messages_ ? std::string() : name_of(&endpoints_[number]->fid);
    }

    void send(unsigned connection, std::span<std::byte const> message) override {
        auto& operation = unused();
        operation.connection = connection;
        operation.output = message;
        if (!unsent_.empty() || !start(operation)) unsent_.push_back(&operation);
    }

    void turn(int most_ms, OnMessage const& on_message, OnConnected const& on_connected) override {
        while (!unsent_.empty() && start(*unsent_.front())) unsent_.pop_front();
        std::array<fi_cq_entry, 32> entries;
        auto const count = read_queue(entries, !connected_.empty() ? 0 : unsent_.empty() ? most_ms : 1);
        for (; !connected_.empty(); connected_.pop_front()) on_connected(connected_.front());
        if (events_) read_events(on_connected);
        if (count == -FI_EAVAIL) fail();
        for (ssize_t i = 0; i < count; ++i) finish(*static_cast<Operation*>(entries[i].op_context), on_message);
    }

    char const* waiting() const override {
        return wait_ == FI_WAIT_FD ? "descriptor" : wait_ == FI_WAIT_UNSPEC ? "call" : "polls";
    }

  private:
    bool has_ports() const { return provider_ != "shm"; }

    void open(std::uint64_t flags, char const* port) {
        Info const hints(fi_allocinfo());
        hints->fabric_attr->prov_name = ::strdup(provider_.c_str());
        hints->ep_attr->type = messages_ ? FI_EP_MSG : FI_EP_RDM;
        hints->caps = FI_MSG;
        hints->mode = FI_CONTEXT | FI_CONTEXT2;
        hints->domain_attr->mr_mode = FI_MR_ALLOCATED | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY;
        hints->domain_attr->threading = FI_THREAD_DOMAIN;
        fi_info* info = nullptr;
        checked(fi_getinfo(kVersion, has_ports() ? kHost : nullptr, port, has_ports() ? flags : 0, hints.get(), &info),
                "fi_getinfo");
        info_.reset(info);
        fid_fabric* fabric = nullptr;
        checked(fi_fabric(info->fabric_attr, &fabric, nullptr), "fi_fabric");
        fabric_.reset(fabric);
        fid_domain* domain = nullptr;
        checked(fi_domain(fabric, info, &domain, nullptr), "fi_domain");
        domain_.reset(domain);
        open_queue();
        if (messages_) {
            open_events();
        } else {
            fi_av_attr attributes{};
            attributes.type = FI_AV_TABLE;
            attributes.count = plan_.connections + 1;
            fid_av* addresses = nullptr;
            checked(fi_av_open(domain, &attributes, &addresses, nullptr), "fi_av_open");
            addresses_.reset(addresses);
        }
    }

    // Takes the first way to wait that the provider has.
    void open_queue() {
        fi_cq_attr attributes{};
        attributes.size = 4 * (plan_.connections + plan_.in_flight) + 64;
        attributes.format = FI_CQ_FORMAT_CONTEXT;
        int result = -FI_ENOSYS;
        for (auto const wait : {FI_WAIT_FD, FI_WAIT_UNSPEC, FI_WAIT_NONE}) {
            // `shm` of 1.17 offers to wait, but then its first message never comes.
            if (provider_ == "shm" && wait != FI_WAIT_NONE) continue;
            attributes.wait_obj = wait_ = wait;
            fid_cq* queue = nullptr;
            result = fi_cq_open(domain_.get(), &attributes, &queue, nullptr);
            if (result != 0) continue;
            queue_.reset(queue);
            if (wait == FI_WAIT_FD) add_descriptor(&queue->fid);
            return;
        }
        checked(result, "fi_cq_open");
    }

    void open_events() {
        fi_eq_attr attributes{};
        attributes.size = 2 * plan_.connections + 16;
        attributes.wait_obj = FI_WAIT_FD;
        fid_eq* events = nullptr;
        checked(fi_eq_open(fabric_.get(), &attributes, &events, nullptr), "fi_eq_open");
        events_.reset(events);
        add_descriptor(&events->fid);
    }

    void add_descriptor(fid* object) {
        int descriptor = -1;
        checked(fi_control(object, FI_GETWAIT, &descriptor), "FI_GETWAIT");
        waited_for_.push_back(object);
        descriptors_.push_back({descriptor, POLLIN, 0});
    }

    ssize_t read_queue(std::span<fi_cq_entry> entries, int most_ms) {
        if (wait_ == FI_WAIT_UNSPEC && most_ms > 0)
            return fi_cq_sread(queue_.get(), entries.data(), entries.size(), nullptr, most_ms);
        if (wait_ == FI_WAIT_FD && most_ms > 0 &&
            fi_trywait(fabric_.get(), waited_for_.data(), static_cast<int>(waited_for_.size())) == FI_SUCCESS)
            ::poll(descriptors_.data(), descriptors_.size(), most_ms);
        return fi_cq_read(queue_.get(), entries.data(), entries.size());
    }

    void read_events(OnConnected const& on_connected) {
        alignas(fi_eq_cm_entry) std::array<std::byte, 512> buffer;
        std::uint32_t what = 0;
        for (ssize_t size = 0;
             (size = fi_eq_read(events_.get(), &what, buffer.data(), buffer.size(), 0)) != -FI_EAGAIN;) {
            if (size == -FI_EAVAIL) {
                fi_eq_err_entry error{};
                fi_eq_readerr(events_.get(), &error, 0);
                checked(-error.err, "a connection");
            }
            checked(size, "fi_eq_read");
            auto const& entry = *reinterpret_cast<fi_eq_cm_entry*>(buffer.data());
            if (what == FI_CONNREQ) {
                Info const asked(entry.info);
                auto* const endpoint = adopt(accepted_++, asked.get(), kRequestBytes);
                checked(fi_accept(endpoint, nullptr, 0), "fi_accept");
            } else if (what == FI_CONNECTED && !listener_) {
                on_connected(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(entry.fid->context)));
            }
        }
    }

    // Makes the endpoint of a connection, with buffers for what it receives.
    fid_ep* adopt(unsigned number, fi_info* info, std::size_t bytes) {
        endpoints_[number] = make_endpoint(info, number);
        auto* const endpoint = endpoints_[number].get();
        for (unsigned i = 0; i < plan_.in_flight / plan_.connections + 1; ++i) receive(endpoint, number, bytes);
        return endpoint;
    }

    Owned<fid_ep> make_endpoint(fi_info* info, std::uintptr_t number = 0) {
        fid_ep* endpoint = nullptr;
        checked(fi_endpoint(domain_.get(), info, &endpoint, reinterpret_cast<void*>(number)), "fi_endpoint");
        Owned<fid_ep> owned(endpoint);
        auto* const names = messages_ ? &events_->fid : &addresses_->fid;
        checked(fi_ep_bind(endpoint, names, 0), "fi_ep_bind");
        checked(fi_ep_bind(endpoint, &queue_->fid, FI_SEND | FI_RECV), "fi_ep_bind");
        checked(fi_enable(endpoint), "fi_enable");
        return owned;
    }

    fid_ep* endpoint_of(unsigned connection) const { return shared_ ? shared_.get() : endpoints_[connection].get(); }

    static std::string name_of(fid* object) {
        std::string name(256, '\0');
        auto size = name.size();
        checked(fi_getname(object, name.data(), &size), "fi_getname");
        name.resize(size);
        if (size > kAddressBytes) throw WireError("an address of " + std::to_string(size) + " bytes");
        return name;
    }

    fi_addr_t insert(void const* address) {
        fi_addr_t found = FI_ADDR_UNSPEC;
        if (fi_av_insert(addresses_.get(), address, 1, &found, 0, nullptr) != 1)
            throw WireError("fi_av_insert: the provider takes no more peers");
        return found;
    }

    void receive(fid_ep* endpoint, unsigned connection, std::size_t bytes) {
        auto& operation = operations_.emplace_back();
        operation.connection = connection;
        operation.input.resize(bytes);
        receive_again(endpoint, operation);
    }

    static void receive_again(fid_ep* endpoint, Operation& operation) {
        auto& input = operation.input;
        checked(fi_recv(endpoint, input.data(), input.size(), nullptr, FI_ADDR_UNSPEC, &operation.context), "fi_recv");
    }

    Operation& unused() {
        if (unused_.empty()) return operations_.emplace_back();
        auto* const operation = unused_.back();
        unused_.pop_back();
        return *operation;
    }

    bool start(Operation& operation) {
        auto const number = operation.connection;
        auto const output = operation.output;
        auto const result =
            fi_send(endpoint_of(number), output.data(), output.size(), nullptr, peers_[number], &operation.context);
        if (result == -FI_EAGAIN) return false;
        checked(result, "fi_send");
        return true;
    }

    void finish(Operation& operation, OnMessage const& on_message) {
        if (operation.input.empty()) {
            unused_.push_back(&operation);
            return;
        }
        auto* const message = operation.input.data();
        auto number = operation.connection;
        if (shared_) {
            Header header;
            std::memcpy(&header, message, sizeof header);
            number = header.connection;
            if (header.hello != 0) peers_.at(number) = insert(message + sizeof header);
        }
        on_message(number, message);
        receive_again(endpoint_of(number), operation);
    }

    void fail() {
        fi_cq_err_entry error{};
        fi_cq_readerr(queue_.get(), &error, 0);
        checked(-error.err, "a message");
    }

    std::string provider_;
    bool messages_;
    Plan plan_;
    fi_wait_obj wait_ = FI_WAIT_NONE;
    std::deque<Operation> operations_; // which stay where they are
    std::vector<Operation*> unused_;
    std::deque<Operation*> unsent_;
    std::deque<unsigned> connected_;
    std::vector<fid*> waited_for_;
    std::vector<pollfd> descriptors_;
    std::vector<fi_addr_t> peers_;
    fi_addr_t server_ = FI_ADDR_UNSPEC;
    unsigned accepted_ = 0;
    Info info_;
    Owned<fid_fabric> fabric_;
    Owned<fid_domain> domain_;
    Owned<fid_cq> queue_;
    Owned<fid_eq> events_;
    Owned<fid_av> addresses_;
    Owned<fid_pep> listener_;
    std::vector<Owned<fid_ep>> endpoints_;
    Owned<fid_ep> shared_; // the server's, of all clients
};

} // namespace

std::unique_ptr<Wire> make_fabric(std::string const& provider, bool messages, Plan const& plan) {
    return std::make_unique<FabricWire>(provider, messages, plan);
}

} // namespace thalweg::study
