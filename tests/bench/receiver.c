/* receiver.c - the fast receiver of the benchmarks.
 *
 * Answers each POST with 204 at once and keeps the connection. The first digit of the path is the class of a
 * job. In the body, "n" is the job's number within its class, and "due" is its due time in ms. GET /take
 * returns for each class the jobs that have come since the last GET /take: their number, how many had come
 * before, how many were early, and their lateness. GET /count returns the number of jobs since the last GET
 * /take, and resets nothing. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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
    NUMBERS_MAX = 1 << 24, /* numbers of a class, from 0; jobs with larger numbers are not counted */
    FDS_MAX = 65536,
    ROOM = 16 * 1024, /* bytes of a connection's buffer: one request must fit */
    EVENTS_MAX = 256,
    ANSWER_MAX = 4096,
};

struct class
{
    uint8_t *seen; /* by number: whether the job has ever come */
    int32_t *late_us;
    size_t received, capacity;
    size_t duplicates, early;
    int64_t first_us, last_us;
};

struct peer {
    size_t used;
    char room[ROOM];
};

static struct class classes[CLASSES];
static struct peer *peers[FDS_MAX];

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* ---- what came ---- */

static void note(struct class *class, struct slice body)
{
    int64_t at_us = now_us();
    int64_t number = message_number(body, "\"n\":");
    int64_t late_us = at_us - message_number(body, "\"due\":") * 1000;
    if (number < 0 || number >= NUMBERS_MAX)
        return;
    class->duplicates += class->seen[number];
    class->seen[number] = 1;
    class->early += late_us < 0;
    if (class->received == class->capacity) {
        class->capacity = class->capacity ? class->capacity * 2 : 1024;
        class->late_us = memory_resize(class->late_us, class->capacity * sizeof *class->late_us);
    }
    class->late_us[class->received++] = (int32_t)(late_us < INT32_MAX ? late_us : INT32_MAX);
    class->first_us = class->first_us ? class->first_us : at_us;
    class->last_us = at_us;
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
    buffer_printf(text,
                  "{\"received\":%zu,\"duplicates\":%zu,\"early\":%zu,\"p50_ms\":%.3f,\"p99_ms\":%.3f,"
                  "\"max_ms\":%.3f,\"seconds\":%.6f}",
                  class->received, class->duplicates, class->early, late_ms(class, .5), late_ms(class, .99),
                  late_ms(class, 1), (double)(class->last_us - class->first_us) / 1e6);
    class->received = class->duplicates = class->early = 0;
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

/* Returns whether the connection is to be closed. */
static bool serve(const struct message *message, struct buffer *answer)
{
    bool is_take = slice_starts_with(message->head, SLICE("GET /take "));
    if (is_take || slice_starts_with(message->head, SLICE("GET /count "))) {
        answer_classes(answer, is_take ? take : count);
        return false;
    }
    int64_t class = message_number(message->head, " /");
    if (class >= 0 && class < CLASSES)
        note(&classes[class], message->body);
    if (slice_starts_with(slice_skip(message->head, strlen("POST /0")), SLICE("/close "))) {
        buffer_append(answer, SLICE("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"));
        return true;
    }
    buffer_append(answer, SLICE("HTTP/1.1 204 No Content\r\n\r\n"));
    return false;
}

static void close_peer(int fd)
{
    free(peers[fd]);
    peers[fd] = NULL;
    close(fd);
}

static void on_readable(int fd)
{
    struct peer *peer = peers[fd];
    struct buffer answer;
    struct message message;
    size_t done = 0;
    ssize_t got = read(fd, peer->room + peer->used, sizeof peer->room - peer->used);
    if (got <= 0) {
        close_peer(fd);
        return;
    }
    peer->used += (size_t)got;
    buffer_init(&answer, ROOM);
    bool is_last = false;
    while (!is_last && message_read(slice_from(peer->room + done, peer->used - done), &message)) {
        is_last = serve(&message, &answer);
        done += message.size;
    }
    peer->used -= done;
    memmove(peer->room, peer->room + done, peer->used);
    bool is_sent = answer.size == 0 || write(fd, answer.data, answer.size) == (ssize_t)answer.size;
    buffer_fini(&answer);
    if (!is_sent || is_last)
        close_peer(fd);
}

static void on_connections(int epoll, int listener)
{
    for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        if (fd >= FDS_MAX || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
            close(fd);
            continue;
        }
        peers[fd] = NEW(struct peer);
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

/* Prints the port on stdout, and serves until stdin ends. */
int main(void)
{
    struct rlimit files = {FDS_MAX, FDS_MAX};
    struct epoll_event events[EVENTS_MAX];
    int epoll = epoll_create1(EPOLL_CLOEXEC), listener;
    setrlimit(RLIMIT_NOFILE, &files); /* raises the limit of open files to the maximum */
    for (int i = 0; i < CLASSES; i++)
        classes[i].seen = NEW_ARRAY(uint8_t, NUMBERS_MAX);
    listener = listen_somewhere();
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &(struct epoll_event){.events = EPOLLIN, .data.fd = listener});
    epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &(struct epoll_event){.events = EPOLLIN});
    for (;;) {
        int count = epoll_wait(epoll, events, EVENTS_MAX, -1);
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd == STDIN_FILENO)
                return EXIT_SUCCESS;
            if (events[i].data.fd == listener)
                on_connections(epoll, listener);
            else
                on_readable(events[i].data.fd);
        }
    }
}
