#include "server/check_embedded.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "server/redis_probe.h"
#include "server/redis_process.h"

struct probing {
    struct loop *loop;
    enum redis_answer answer;
};

static void on_probed(void *arg, enum redis_answer answer, pid_t pid, int pidfd)
{
    struct probing *probing = arg;
    (void)pid;
    if (pidfd >= 0)
        close(pidfd);
    probing->answer = answer;
    loop_stop(probing->loop);
}

static enum redis_answer probe(struct loop *loop, const char *path)
{
    struct probing probing = {loop, REDIS_ANSWER_NONE};
    redis_probe_start(loop, path, on_probed, &probing);
    loop_run(loop);
    return probing.answer;
}

/* If the disk has less room than this, the line is a warning, because Redis needs room for a second copy of
 * all data when it rewrites its append-only file. */
#define DISK_LOW_BYTES (INT64_C(256) << 20)

/* Shortens path to the nearest parent folder that exists, in which the first start would create the data
 * directory. */
static bool disk_of_existing(char *path, struct statvfs *disk)
{
    while (statvfs(path, disk) != 0) {
        if (errno != ENOENT || strcmp(path, "/") == 0 || strcmp(path, ".") == 0)
            return false;
        const char *parent = dirname(path);
        memmove(path, parent, strlen(parent) + 1);
    }
    return true;
}

static void check_disk(struct check_report *report, const char *data_dir)
{
    struct statvfs disk;
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s", data_dir) >= (int)sizeof path || !disk_of_existing(path, &disk))
        return;
    int64_t free_bytes = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize;
    long long mib = (long long)(free_bytes >> 20);
    if (free_bytes < DATA_DIR_ROOM_BYTES)
        check_add(report, CHECK_FAILURE, "disk",
                  "the disk of %s is full; the private Redis does not run until 1 MiB is free", path);
    else if (free_bytes < DISK_LOW_BYTES)
        check_add(report, CHECK_WARNING, "disk",
                  "%lld MiB are free in %s; the private Redis stops when its disk is full", mib, path);
    else
        check_add(report, CHECK_OK, "disk", "%lld MiB are free in %s", mib, path);
}

bool check_embedded_find(struct check_report *report, struct loop *loop, const struct options *options,
                         struct check_embedded *embedded)
{
    struct redis_program program;
    struct problem problem;
    bool exists;
    if (redis_program_find(options->embedded_server, &program, &problem) != STATUS_OK) {
        check_add(report, CHECK_FAILURE, "server", "%s", problem.text);
        return false;
    }
    check_add(report, CHECK_OK, "server", "%s %s is installed", program.path, program.version);
    redis_program_fini(&program);
    if (data_dir_try(options->data_dir, &exists, &problem) != STATUS_OK) {
        check_add(report, CHECK_FAILURE, "redis", "%s", problem.text);
        return false;
    }
    embedded->fd = open(options->data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check_disk(report, options->data_dir);
    data_dir_socket(options->data_dir, embedded->fd, REDIS_SOCKET_NAME, embedded->path);
    enum redis_answer answer = exists ? probe(loop, embedded->path) : REDIS_ANSWER_NONE;
    if (answer == REDIS_ANSWER_PONG)
        return true;
    check_add(report, answer == REDIS_ANSWER_LOADING ? CHECK_WARNING : CHECK_OK, "redis",
              answer == REDIS_ANSWER_LOADING
                  ? "the private Redis in %s still loads its data; check again later"
                  : "the private Redis in %s does not run; duepost starts it",
              options->data_dir);
    return false;
}

void check_embedded_fini(struct check_embedded *embedded)
{
    if (embedded->fd >= 0)
        close(embedded->fd);
}
