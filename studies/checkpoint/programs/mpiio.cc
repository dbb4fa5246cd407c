// Saves with MPI-IO: one file, some, or a file for each process.
#include "strategies.h"

namespace {

// These are hints of ROMIO (MPICH) and OMPIO (Open MPI); an implementation does not report hints that it does not know.
constexpr char const* kHints[] = {"cb_buffer_size", "cb_nodes",        "cb_config_list", "romio_cb_write",
                                  "romio_ds_write", "striping_factor", "striping_unit",  "collective_buffering"};

std::string value_of(MPI_Info info, std::string const& key) {
    char value[MPI_MAX_INFO_VAL + 1] = {};
    int found = 0;
    MPI_Info_get(info, key.c_str(), MPI_MAX_INFO_VAL, value, &found);
    return found != 0 ? value : "";
}

void append(std::string& list, std::string const& item) { list += (list.empty() ? "" : ", ") + item; }

struct Group {
    MPI_Comm comm;
    std::string path;
    bool collective;
};

MPI_File open_file(Job& job, Group const& group, MPI_Info info, int mode) {
    MPI_File file = MPI_FILE_NULL;
    check(MPI_File_open(group.comm, group.path.c_str(), mode, info, &file), "cannot open by MPI");
    note_hints(job, file);
    job.phase("open");
    return file;
}

MPI_Offset place_in(Group const& group, Job const& job) {
    int rank = 0;
    MPI_Comm_rank(group.comm, &rank);
    return static_cast<MPI_Offset>(job.bytes()) * rank;
}

void save(Job& job, Group const& group) {
    auto info = info_of(job);
    auto file = open_file(job, group, info, MPI_MODE_CREATE | MPI_MODE_WRONLY);
    auto const write = group.collective ? MPI_File_write_at_all : MPI_File_write_at;
    auto const count = static_cast<int>(job.values.size());
    check(write(file, place_in(group, job), job.values.data(), count, MPI_DOUBLE, MPI_STATUS_IGNORE),
          "cannot write by MPI");
    job.phase("write");
    check(MPI_File_sync(file), "cannot sync by MPI");
    job.phase("sync");
    check(MPI_File_close(&file), "cannot close by MPI");
    job.phase("close");
    MPI_Info_free(&info);
}

void restore(Job& job, Group const& group) {
    auto info = info_of(job);
    auto file = open_file(job, group, info, MPI_MODE_RDONLY);
    auto const read = group.collective ? MPI_File_read_at_all : MPI_File_read_at;
    auto const count = static_cast<int>(job.values.size());
    check(read(file, place_in(group, job), job.values.data(), count, MPI_DOUBLE, MPI_STATUS_IGNORE),
          "cannot read by MPI");
    job.phase("read");
    check(MPI_File_close(&file), "cannot close by MPI");
    job.phase("close");
    MPI_Info_free(&info);
}

using Work = void (*)(Job&, Group const&);

std::function<void(Job&)> alone(Work work) {
    return [work](Job& job) { work(job, {MPI_COMM_SELF, job.own_path(), false}); };
}

std::function<void(Job&)> shared(Work work, bool collective) {
    return [work, collective](Job& job) { work(job, {MPI_COMM_WORLD, job.path, collective}); };
}

std::function<void(Job&)> in_files(Work work, int files) {
    return [work, files](Job& job) {
        MPI_Comm comm = MPI_COMM_NULL;
        auto const number = rank_of() * files / ranks();
        MPI_Comm_split(MPI_COMM_WORLD, number, rank_of(), &comm);
        work(job, {comm, job.path + "." + std::to_string(number), false});
        MPI_Comm_free(&comm);
    };
}

} // namespace

MPI_Info info_of(Job const& job) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    for (auto const& hint : job.hints) {
        auto const split = hint.find('=');
        MPI_Info_set(info, hint.substr(0, split).c_str(), hint.substr(split + 1).c_str());
    }
    return info;
}

void note_hints(Job& job, MPI_File file) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_File_get_info(file, &info);
    for (auto const* key : kHints) {
        if (auto const value = value_of(info, key); !value.empty()) append(job.in_effect, key + ("=" + value));
    }
    for (auto const& hint : job.hints) {
        auto const key = hint.substr(0, hint.find('='));
        if (key + "=" + value_of(info, key) != hint) append(job.ignored, hint);
    }
    MPI_Info_free(&info);
}

Strategies mpiio_strategies(int ranks) {
    Strategies all{{"mpiio-per-process", {alone(save), alone(restore)}},
                   {"mpiio-independent", {shared(save, false), shared(restore, false)}},
                   {"mpiio-collective", {shared(save, true), shared(restore, true)}}};
    for (int files = 2; files <= ranks; files *= 2) {
        all["mpiio-files-" + std::to_string(files)] = {in_files(save, files), in_files(restore, files)};
    }
    return all;
}
