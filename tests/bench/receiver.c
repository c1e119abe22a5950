/* receiver.c - the fast receiver of the benchmarks.
 *
 *   bench_receiver [CERTIFICATE KEY]
 *
 * Answers each POST with 204 at once and keeps the connection. If the path ends in /close, closes the
 * connection after the answer; if it ends in /slow, answers after 100 ms. The first digit of the path is the
 * class of a job. In the body, "n" is the job's number within its class, and "due" is its due time in ms. GET
 * /take returns for each class the jobs that have come since the last GET /take: their number, how many had
 * come before, how many were early, and their lateness. GET /count returns the number of jobs since the last
 * GET /take, and resets nothing. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "message.h"

enum {
    CLASSES = 4,
    NUMBERS_MAX =
        1 << 24, /* only jobs whose number in their class is below this are counted; numbers begin at 0 */
    FDS_MAX = 65536,
    ROOM = 64 * 1024, /* bytes of a connection's buffer: one request must fit */
    EVENTS_MAX = 256,
    ANSWER_MAX = 4096,
    SLOW_US = 100000,
};

#define NO_CONTENT SLICE("HTTP/1.1 204 No Content\r\n\r\n")

struct class
{
    uint8_t *seen; /* for each job number: whether this job has come */
    int32_t *late_us;
    size_t received, capacity;
    size_t duplicates, early;
    size_t resumed; /* jobs over connections that resumed a TLS session */
    int64_t first_us, last_us;
};

struct peer {
    SSL *tls;        /* NULL: plain */
    uint64_t number; /* number of the connection, because descriptors are used again */
    size_t used;
    char room[ROOM];
};

/* An answer of a slow path. A connection waits for at most one. */
struct late_answer {
    int fd;
    uint64_t number;
    int64_t at_us;
};

static struct class classes[CLASSES];
static struct peer *peers[FDS_MAX];
static struct late_answer
    late_answers[FDS_MAX]; /* a ring: all waits are equally long, so the oldest answer is due first */
static size_t first_late, late_count;
static uint64_t connections;

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* ---- what came ---- */

static void note(struct class *class, const SSL *tls, struct slice body)
{
    int64_t at_us = now_us();
    int64_t number = message_number(body, "\"n\":");
    int64_t late_us = at_us - message_number(body, "\"due\":") * 1000;
    if (number < 0 || number >= NUMBERS_MAX)
        return;
    class->duplicates += class->seen[number];
    class->seen[number] = 1;
    class->early += late_us < 0;
    class->resumed += tls && SSL_session_reused(tls);
    if (class->received == class->capacity) {
        class->capacity = class->capacity ? class->capacity * 2 : 1024;
        class->late_us = memory_resize(class->late_us, class->capacity * sizeof *class->late_us);
    }
    class->late_us[class->received++] = (int32_t)(late_us < INT32_MAX ? late_us : INT32_MAX);
    class->first_us = class->first_us ? class->first_us : at_us;
    class->last_us = at_us;
}

/* Notes each job of a body, which has several if it is a batch. */
static void note_all(struct class *class, const SSL *tls, struct slice body)
{
    static const char key[] = "\"n\":";
    for (const char *at; (at = memmem(body.data, body.size, key, sizeof key - 1));) {
        body = slice_from(at, (size_t)(slice_end(body) - at));
        note(class, tls, body);
        body = slice_skip(body, sizeof key - 1);
    }
}

static int compare(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return a < b ? -1 : a > b;
}

static double late_ms(const struct class *class, double share)
{
    return class->received ? class->late_us[(size_t)((double)(class->received - 1) * share)] / 1e3 : 0;
}

static void take(struct class *class, struct buffer *text)
{
    if (class->received > 1)
        qsort(class->late_us, class->received, sizeof *class->late_us, compare);
    buffer_printf(
        text,
        "{\"received\":%zu,\"duplicates\":%zu,\"early\":%zu,\"resumed\":%zu,\"p50_ms\":%.3f,\"p99_ms\":%.3f,"
        "\"max_ms\":%.3f,\"seconds\":%.6f}",
        class->received, class->duplicates, class->early, class->resumed, late_ms(class, .5),
        late_ms(class, .99), late_ms(class, 1), (double)(class->last_us - class->first_us) / 1e6);
    class->received = class->duplicates = class->early = class->resumed = 0;
    class->first_us = class->last_us = 0;
}

static void count(struct class *class, struct buffer *text)
{
    buffer_printf(text, "%zu", class->received);
}

static void answer_classes(struct buffer *answer, void (*write_class)(struct class *, struct buffer *))
{
    struct buffer text;
    buffer_init(&text, ANSWER_MAX);
    for (int i = 0; i < CLASSES; i++) {
        buffer_append_byte(&text, i ? ',' : '[');
        write_class(&classes[i], &text);
    }
    buffer_append_byte(&text, ']');
    buffer_printf(answer, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                  text.size);
    buffer_append(answer, buffer_slice(&text));
    buffer_fini(&text);
}

/* ---- connections ---- */

static void close_peer(int fd)
{
    SSL_free(peers[fd]->tls);
    free(peers[fd]);
    peers[fd] = NULL;
    close(fd);
}

/* Reads what has come. Returns false if the connection has ended. */
static bool read_peer(struct peer *peer, int fd)
{
    for (;;) {
        size_t room = sizeof peer->room - peer->used;
        ssize_t got = peer->tls ? SSL_read(peer->tls, peer->room + peer->used, (int)room)
                                : read(fd, peer->room + peer->used, room);
        if (got > 0)
            peer->used += (size_t)got;
        if (got <= 0 && peer->tls)
            return SSL_get_error(peer->tls, (int)got) == SSL_ERROR_WANT_READ;
        if (!peer->tls)
            return got > 0;
    }
}

static bool write_peer(const struct peer *peer, int fd, struct slice answer)
{
    ssize_t sent =
        peer->tls ? SSL_write(peer->tls, answer.data, (int)answer.size) : write(fd, answer.data, answer.size);
    return sent == (ssize_t)answer.size;
}

static void answer_late(int fd)
{
    late_answers[(first_late + late_count++) % FDS_MAX] =
        (struct late_answer){fd, peers[fd]->number, now_us() + SLOW_US};
}

/* Sends the answers whose time has come. Returns how long to wait for the next one in ms, or -1. */
static int send_late_answers(void)
{
    for (; late_count > 0; late_count--, first_late = (first_late + 1) % FDS_MAX) {
        const struct late_answer *late = &late_answers[first_late];
        int64_t left_us = late->at_us - now_us();
        if (left_us > 0)
            return (int)(left_us / 1000 + 1);
        const struct peer *peer = peers[late->fd];
        if (peer && peer->number == late->number && !write_peer(peer, late->fd, NO_CONTENT))
            close_peer(late->fd);
    }
    return -1;
}

/* Returns whether the path of a POST, after its class, begins with this path. */
static bool has_path(const struct message *message, struct slice path)
{
    return slice_starts_with(slice_skip(message->head, strlen("POST /0")), path);
}

/* Returns whether the connection is to be closed. */
static bool serve(int fd, const struct message *message, struct buffer *answer)
{
    bool is_take = slice_starts_with(message->head, SLICE("GET /take "));
    if (is_take || slice_starts_with(message->head, SLICE("GET /count "))) {
        answer_classes(answer, is_take ? take : count);
        return false;
    }
    int64_t class = message_number(message->head, " /");
    if (class >= 0 && class < CLASSES)
        note_all(&classes[class], peers[fd]->tls, message->body);
    if (has_path(message, SLICE("/close "))) {
        buffer_append(answer, SLICE("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"));
        return true;
    }
    if (has_path(message, SLICE("/slow ")))
        answer_late(fd);
    else
        buffer_append(answer, NO_CONTENT);
    return false;
}

static void on_readable(int fd)
{
    struct peer *peer = peers[fd];
    struct buffer answer;
    struct message message;
    size_t done = 0;
    if (!read_peer(peer, fd)) {
        close_peer(fd);
        return;
    }
    buffer_init(&answer, ROOM);
    bool is_last = false;
    while (!is_last && message_read(slice_from(peer->room + done, peer->used - done), &message)) {
        is_last = serve(fd, &message, &answer);
        done += message.size;
    }
    peer->used -= done;
    memmove(peer->room, peer->room + done, peer->used);
    bool is_sent = answer.size == 0 || write_peer(peer, fd, buffer_slice(&answer));
    buffer_fini(&answer);
    if (!is_sent || is_last)
        close_peer(fd);
}

static SSL *tls_new(SSL_CTX *context, int fd)
{
    if (!context)
        return NULL;
    SSL *tls = SSL_new(context);
    SSL_set_fd(tls, fd);
    SSL_set_accept_state(tls);
    return tls;
}

/* context: NULL for the listener without TLS */
static void on_connections(int epoll, int listener, SSL_CTX *context)
{
    for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        if (fd >= FDS_MAX || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
            close(fd);
            continue;
        }
        peers[fd] = NEW(struct peer);
        peers[fd]->tls = tls_new(context, fd);
        peers[fd]->number = ++connections;
    }
}

static int listen_somewhere(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, 4096) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
        perror("receiver");
        exit(EXIT_FAILURE);
    }
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

static SSL_CTX *context_new(const char *certificate, const char *key)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (SSL_CTX_use_certificate_chain_file(context, certificate) == 1 &&
        SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1)
        return context;
    fprintf(stderr, "receiver: %s or %s cannot be used\n", certificate, key);
    exit(EXIT_FAILURE);
}

static void watch(int epoll, int fd)
{
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN, .data.fd = fd});
}

/* Prints the port on stdout, and with a certificate the port for TLS, and serves until stdin ends. */
int main(int argc, char **argv)
{
    struct rlimit files = {FDS_MAX, FDS_MAX};
    struct epoll_event events[EVENTS_MAX];
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    signal(SIGPIPE, SIG_IGN);
    setrlimit(RLIMIT_NOFILE, &files); /* raises the limit of open files to the maximum */
    for (int i = 0; i < CLASSES; i++)
        classes[i].seen = NEW_ARRAY(uint8_t, NUMBERS_MAX);
    SSL_CTX *context = argc == 3 ? context_new(argv[1], argv[2]) : NULL;
    int listener = listen_somewhere(), tls_listener = context ? listen_somewhere() : -1;
    watch(epoll, listener);
    if (context)
        watch(epoll, tls_listener);
    watch(epoll, STDIN_FILENO);
    for (;;) {
        int count = epoll_wait(epoll, events, EVENTS_MAX, send_late_answers());
        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            if (fd == STDIN_FILENO)
                return EXIT_SUCCESS;
            if (fd == listener || fd == tls_listener)
                on_connections(epoll, fd, fd == tls_listener ? context : NULL);
            else if (peers[fd])
                on_readable(fd);
        }
    }
}
