#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/encoding.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/metrics.h"
#include "cli/outbox/outbox.h"
#include "job/token.h"
#include "server/server_private.h"

enum {
    SOCKET_NAME_SIZE = 32,
    JOIN_S = 8, /* more than a relay needs to end, unless it is connecting */
};
#define AUTHORIZATION "Authorization: Bearer "

struct outbox {
    char *url;
    struct metrics_relay *numbers;
    pthread_t thread;
    bool is_started;
    int socket, stop_fd;
    char name[SOCKET_NAME_SIZE]; /* the abstract name of the socket */
    char authorization[sizeof AUTHORIZATION + TOKEN_TEXT_SIZE];
    struct remote *remote;
    pthread_mutex_t lock;
    bool is_left; /* under the lock: the thread must no longer use numbers */
};

/* ---- what the relay says ---- */

static void outbox_tell(void *arg, enum outbox_event event, const char *text)
{
    (void)arg;
    switch (event) {
    case OUTBOX_AWAY:
        log_warning("outbox_away", LOG_TEXT("why", text), LOG_TEXT("then", "rows wait; trying again"));
        break;
    case OUTBOX_BACK:
        log_info("outbox_back", LOG_TEXT("what", text));
        break;
    case OUTBOX_STANDBY:
        log_info("outbox_standby", LOG_TEXT("what", text));
        break;
    case OUTBOX_FAILED:
        log_error("outbox_row_failed", LOG_TEXT("what", text));
        break;
    case OUTBOX_REFUSED:
        log_warning("outbox_topic_refused", LOG_TEXT("what", text));
        break;
    case OUTBOX_STUCK:
        log_error("outbox_row_stuck", LOG_TEXT("what", text), LOG_TEXT("then", "trying again in a minute"));
        break;
    }
}

static void outbox_note(void *arg, const struct outbox_figures *figures)
{
    struct outbox *outbox = arg;
    pthread_mutex_lock(&outbox->lock);
    if (!outbox->is_left) {
        struct metrics_relay *numbers = outbox->numbers;
        atomic_store(&numbers->is_up, figures->is_up);
        atomic_store(&numbers->is_active, figures->is_active);
        atomic_store(&numbers->sent, figures->sent);
        atomic_store(&numbers->failed, figures->failed);
        atomic_store(&numbers->stuck, figures->stuck);
        atomic_store(&numbers->oldest_ms, figures->oldest_ms);
    }
    pthread_mutex_unlock(&outbox->lock);
}

static void *run_outbox(void *arg)
{
    struct outbox *outbox = arg;
    struct problem problem;
    const struct outbox_relay_options options = {
        .source = outbox->url,
        .remote = outbox->remote,
        .server_name = "duepost",
        .stop_fd = outbox->stop_fd,
        .keeps_trying = true,
        .tell = outbox_tell,
        .note = outbox_note,
        .arg = outbox,
    };
    if (!outbox_relay_run(&options, &problem))
        log_error("outbox_ended", LOG_TEXT("why", problem.text));
    return NULL;
}

/* ---- life of the relay ---- */

/* Opens a socket whose name the kernel chooses. The name is in no folder, and the token keeps other programs
 * of this host out. */
static int open_socket(char name[SOCKET_NAME_SIZE])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t size = sizeof address;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address.sun_family) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
        log_error("outbox_socket_failed", LOG_TEXT("why", strerror(errno)),
                  LOG_TEXT("do", "let duepost use AF_UNIX sockets, or leave out --outbox"));
        abort();
    }
    size -= offsetof(struct sockaddr_un, sun_path) + 1;
    snprintf(name, SOCKET_NAME_SIZE, "%.*s", (int)size, address.sun_path + 1);
    return fd;
}

struct outbox *outbox_new(const char *url, struct metrics_relay *numbers)
{
    struct outbox *outbox = NEW(struct outbox);
    uint8_t random[TOKEN_RANDOM_BYTES];
    char token[TOKEN_TEXT_SIZE];
    outbox->url = slice_dup(slice_of(url));
    outbox->numbers = numbers;
    outbox->socket = open_socket(outbox->name);
    outbox->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (outbox->stop_fd < 0)
        abort();
    random_fill(random, sizeof random);
    token_make(random, token);
    snprintf(outbox->authorization, sizeof outbox->authorization, AUTHORIZATION "%.*s", (int)sizeof token,
             token);
    const struct remote_options remote = {
        .server = "http://localhost", .authorization = outbox->authorization, .socket = outbox->name};
    outbox->remote = remote_new(&remote); /* before other threads: it prepares libcurl */
    pthread_mutex_init(&outbox->lock, NULL);
    atomic_store(&numbers->oldest_ms, -1);
    atomic_store(&numbers->is_on, true);
    return outbox;
}

int outbox_take_socket(struct outbox *outbox)
{
    int fd = outbox ? outbox->socket : -1;
    if (outbox)
        outbox->socket = -1;
    return fd;
}

struct slice outbox_token(const struct outbox *outbox)
{
    return outbox ? slice_of(outbox->authorization + strlen(AUTHORIZATION)) : (struct slice){NULL, 0};
}

void outbox_start(struct outbox *outbox)
{
    if (!outbox)
        return;
    if (pthread_create(&outbox->thread, NULL, run_outbox, outbox) != 0)
        abort();
    outbox->is_started = true;
}

void outbox_end(struct outbox *outbox)
{
    if (outbox && eventfd_write(outbox->stop_fd, 1) != 0)
        log_error("outbox_not_ended", LOG_TEXT("why", strerror(errno)));
}

void outbox_stop(struct outbox *outbox)
{
    struct timespec until;
    if (!outbox)
        return;
    outbox_end(outbox);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += JOIN_S;
    if (outbox->is_started && pthread_timedjoin_np(outbox->thread, NULL, &until) != 0) {
        log_warning("outbox_left", LOG_TEXT("why", "its database does not answer"));
        pthread_mutex_lock(&outbox->lock);
        outbox->is_left = true;
        pthread_mutex_unlock(&outbox->lock);
        pthread_detach(outbox->thread);
        return; /* the thread uses it until the process ends */
    }
    if (outbox->socket >= 0)
        close(outbox->socket);
    close(outbox->stop_fd);
    remote_free(outbox->remote);
    pthread_mutex_destroy(&outbox->lock);
    explicit_bzero(outbox->url, strlen(outbox->url));
    explicit_bzero(outbox->authorization, sizeof outbox->authorization);
    free(outbox->url);
    free(outbox);
}
