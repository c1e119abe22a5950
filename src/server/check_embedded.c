#include "server/check_embedded.h"

#include <fcntl.h>
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
