// strategies NAME save|restore PATH BYTES [HINT=VALUE...]: other ways to save, each durable at its end, printed by rank
// 0 as JSON with the hints that were in effect and the number of writes of all ranks.
#include "ranks.h"

#include <functional>
#include <map>
#ifdef STUDY_HAS_HDF5 // a parallel one
#include <hdf5.h>
#endif

namespace {

struct Job {
    std::string path;
    std::vector<double> values;
    std::vector<std::string> hints;
    int files = 1; // of mpiio-files
    std::string in_effect = {};

    std::uint64_t bytes() const { return values.size() * sizeof(double); }
    std::string own_path() const { return path + "." + std::to_string(rank_of()); }
};

void check(int result, char const* what) {
    if (result != MPI_SUCCESS) fail(what);
}

void require(long long result, char const* what) {
    if (result < 0) fail(what);
}

constexpr std::size_t kPieceBytes = 8 << 20;

void posix_save(Job& job, int flags) {
    int const fd = ::open(job.own_path().c_str(), O_WRONLY | O_CREAT | O_TRUNC | flags, 0644);
    require(fd, "cannot create a file");
    auto const* data = reinterpret_cast<char const*>(job.values.data());
    void* memory = nullptr;
    if (flags != 0 && ::posix_memalign(&memory, 4096, kPieceBytes) != 0) fail("there is no memory");
    for (std::uint64_t at = 0; at < job.bytes();) {
        auto count = std::min<std::uint64_t>(kPieceBytes, job.bytes() - at);
        if (flags != 0) {
            std::memcpy(memory, data + at, count);
            count = (count + 4095) / 4096 * 4096; // whole blocks
        }
        auto const written = ::pwrite(fd, flags != 0 ? memory : data + at, count, static_cast<off_t>(at));
        require(written, "cannot write");
        at += static_cast<std::uint64_t>(written);
    }
    std::free(memory);
    require(::ftruncate(fd, static_cast<off_t>(job.bytes())), "cannot cut a file");
    require(::fsync(fd), "cannot sync");
    ::close(fd);
}

void posix_restore(Job& job) {
    int const fd = ::open(job.own_path().c_str(), O_RDONLY);
    require(fd, "cannot open a file");
    auto* data = reinterpret_cast<char*>(job.values.data());
    for (std::uint64_t at = 0; at < job.bytes();) {
        auto const got =
            ::pread(fd, data + at, std::min<std::uint64_t>(kPieceBytes, job.bytes() - at), static_cast<off_t>(at));
        if (got <= 0) fail("cannot read");
        at += static_cast<std::uint64_t>(got);
    }
    ::close(fd);
}

MPI_Info info_of(Job const& job) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    for (auto const& hint : job.hints) {
        auto const split = hint.find('=');
        MPI_Info_set(info, hint.substr(0, split).c_str(), hint.substr(split + 1).c_str());
    }
    return info;
}

std::string hints_in_effect(MPI_File file) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_File_get_info(file, &info);
    std::string text;
    for (auto const* key : {"cb_buffer_size", "cb_nodes", "romio_cb_write", "romio_ds_write", "striping_unit"}) {
        char value[MPI_MAX_INFO_VAL + 1] = {};
        int found = 0;
        MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
        if (found) text += std::string(text.empty() ? "" : ", ") + key + "=" + value;
    }
    MPI_Info_free(&info);
    return text;
}

// `comm` writes one file; each rank `bytes` at its place.
void mpiio_save(Job& job, MPI_Comm comm, std::string const& path, bool collective) {
    auto info = info_of(job);
    MPI_File file = MPI_FILE_NULL;
    check(MPI_File_open(comm, path.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, info, &file), "cannot open by MPI");
    job.in_effect = hints_in_effect(file);
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    auto const offset = static_cast<MPI_Offset>(job.bytes()) * rank;
    auto const count = static_cast<int>(job.values.size());
    check(collective ? MPI_File_write_at_all(file, offset, job.values.data(), count, MPI_DOUBLE, MPI_STATUS_IGNORE)
                     : MPI_File_write_at(file, offset, job.values.data(), count, MPI_DOUBLE, MPI_STATUS_IGNORE),
          "cannot write by MPI");
    check(MPI_File_sync(file), "cannot sync by MPI");
    check(MPI_File_close(&file), "cannot close by MPI");
    MPI_Info_free(&info);
}

void mpiio_files(Job& job) {
    MPI_Comm group = MPI_COMM_NULL;
    auto const color = rank_of() * job.files / ranks();
    MPI_Comm_split(MPI_COMM_WORLD, color, rank_of(), &group);
    mpiio_save(job, group, job.path + "." + std::to_string(color), false);
    MPI_Comm_free(&group);
}

#ifdef STUDY_HAS_HDF5
void hdf5_save(Job& job, bool collective) {
    auto info = info_of(job);
    auto const access = H5Pcreate(H5P_FILE_ACCESS);
    require(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, info), "no parallel HDF5");
    require(H5Pset_alignment(access, 65536, 4096), "no alignment");
    auto const file = H5Fcreate(job.path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    require(file, "cannot create by HDF5");
    hsize_t const count = job.values.size(), all = count * static_cast<hsize_t>(ranks());
    hsize_t const start = count * static_cast<hsize_t>(rank_of());
    auto const space = H5Screate_simple(1, &all, nullptr), memory = H5Screate_simple(1, &count, nullptr);
    auto const creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    auto const dataset = H5Dcreate2(file, "psi", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, nullptr, &count, nullptr);
    auto const transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer, collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
    require(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, transfer, job.values.data()), "cannot write by HDF5");
    MPI_File* handle = nullptr;
    H5Fget_vfd_handle(file, H5P_DEFAULT, reinterpret_cast<void**>(&handle));
    job.in_effect = hints_in_effect(*handle);
    for (auto const id : {transfer, creation}) H5Pclose(id);
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(dataset);
    require(H5Fflush(file, H5F_SCOPE_GLOBAL), "cannot flush by HDF5");
    check(MPI_File_sync(*handle), "cannot sync by MPI");
    require(H5Fclose(file), "cannot close by HDF5");
    H5Pclose(access);
    MPI_Info_free(&info);
}
#endif

std::map<std::string, std::function<void(Job&)>> const kSaves{
    {"posix-buffered", [](Job& job) { posix_save(job, 0); }},
    {"posix-direct", [](Job& job) { posix_save(job, O_DIRECT); }},
    {"mpiio-per-process", [](Job& job) { mpiio_save(job, MPI_COMM_SELF, job.own_path(), false); }},
    {"mpiio-independent", [](Job& job) { mpiio_save(job, MPI_COMM_WORLD, job.path, false); }},
    {"mpiio-collective", [](Job& job) { mpiio_save(job, MPI_COMM_WORLD, job.path, true); }},
    {"mpiio-files-2", [](Job& job) { job.files = 2, mpiio_files(job); }},
#ifdef STUDY_HAS_HDF5
    {"hdf5-independent", [](Job& job) { hdf5_save(job, false); }},
    {"hdf5-collective", [](Job& job) { hdf5_save(job, true); }},
#endif
};

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    if (argc < 5) fail("strategies NAME save|restore PATH BYTES [HINT=VALUE...]");
    Job job{argv[3], values_of(std::strtoull(argv[4], nullptr, 10), static_cast<std::uint64_t>(rank_of()) + 1), {}};
    for (int i = 5; i < argc; ++i) job.hints.emplace_back(argv[i]);
    bool const saves = std::string(argv[2]) == "save";
    auto const own = writes_so_far();
    meet();
    auto const begin = now();
    if (saves) {
        kSaves.at(argv[1])(job);
    } else {
        posix_restore(job);
    }
    auto const seconds = longest(now() - begin);
    auto writes = writes_so_far() - own, all = std::uint64_t{0}, most = std::uint64_t{0};
    MPI_Reduce(&writes, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&writes, &most, 1, MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank_of() == 0) {
        std::printf("{\"seconds\": %.6f, \"raw_bytes\": %llu, \"writes\": %llu, \"writes_of_busiest\": %llu, "
                    "\"hints\": \"%s\"}\n",
                    seconds, static_cast<unsigned long long>(job.bytes() * static_cast<std::uint64_t>(ranks())),
                    static_cast<unsigned long long>(all), static_cast<unsigned long long>(most), job.in_effect.c_str());
    }
    MPI_Finalize();
}
