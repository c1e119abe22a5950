/* judge.c - a receiver that follows instructions in the urls, and logs the requests.
 *
 *   fault_judge LOG GAUGES
 *
 * The path of a url has one action for each attempt; further attempts get the last action: /500/200w300 fails
 * the first and answers the others with 200 after 300 ms.
 *
 *   200w300  a status, the answer comes after the ms that follow w    reset  ends the connection by RST
 *   hang     no answer                         drip 200, with a body that comes byte by byte without an end;
 * w as above
 *   202d30   202 that defers the end of the attempt for the seconds that follow d
 *
 * LOG gets a line for each complete POST: A, us since 1970, address of the peer, attempt, action,
 * topic/jobId, and the token of the attempt, or ?; and a line when its status was sent: R, us, attempt,
 * topic/jobId. GAUGES is a map of 65,536 64-bit numbers: how many POSTs of 127.x.y.z, at 256 y + z, have no
 * answer yet. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "bench/message.h"

enum {
    FDS_MAX = 65536,
    GAUGES = 65536,
    ROOM = 16 * 1024, /* bytes of a connection's buffer: one request must fit */
    ID_MAX = 256,
    EVENTS_MAX = 256,
    DRIP_MS = 100,
    DRIP_BYTES = 100000,
};

enum { BEGIN_DRIP = -1, GO_ON_DRIPPING = 0 };

struct peer {
    uint64_t number; /* distinguishes the peer from earlier peers with the same descriptor */
    uint32_t address;
    bool is_open; /* the peer's POST has no answer yet */
    int attempt;
    int64_t deferral_s; /* 0: the answer does not defer the end of the attempt */
    char id[ID_MAX];
    size_t used;
    char room[ROOM];
};

/* The judge must do something for a peer at at_us. The waits are a heap, the earliest first. */
struct wait {
    int64_t at_us;
    int fd;
    uint64_t number;
    int status; /* status of the answer, BEGIN_DRIP or GO_ON_DRIPPING */
};

static struct peer *peers[FDS_MAX];
static uint64_t peer_count;
static struct wait *waits;
static size_t wait_count, wait_capacity;
static volatile int64_t *gauges;
static FILE *record;

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* ---- waits ---- */

static void swap_waits(size_t a, size_t b)
{
    struct wait wait = waits[a];
    waits[a] = waits[b];
    waits[b] = wait;
}

static void add_wait(int fd, int64_t after_ms, int status)
{
    if (wait_count == wait_capacity) {
        wait_capacity = wait_capacity ? wait_capacity * 2 : 1024;
        waits = memory_resize(waits, wait_capacity * sizeof *waits);
    }
    size_t i = wait_count++;
    waits[i] = (struct wait){now_us() + after_ms * 1000, fd, peers[fd]->number, status};
    for (; i > 0 && waits[i].at_us < waits[(i - 1) / 2].at_us; i = (i - 1) / 2)
        swap_waits(i, (i - 1) / 2);
}

static struct wait take_wait(void)
{
    struct wait first = waits[0];
    waits[0] = waits[--wait_count];
    for (size_t i = 0, child; (child = 2 * i + 1) < wait_count; i = child) {
        if (child + 1 < wait_count && waits[child + 1].at_us < waits[child].at_us)
            child++;
        if (waits[i].at_us <= waits[child].at_us)
            break;
        swap_waits(i, child);
    }
    return first;
}

/* ---- answers ---- */

static void set_open(struct peer *peer, bool is_open)
{
    if (peer->is_open != is_open)
        gauges[peer->address & (GAUGES - 1)] += is_open ? 1 : -1;
    peer->is_open = is_open;
}

static void close_peer(int fd)
{
    set_open(peers[fd], false);
    free(peers[fd]);
    peers[fd] = NULL;
    close(fd);
}

static void send_text(int fd, const char *text, int size)
{
    if (write(fd, text, (size_t)size) != size)
        close_peer(fd);
}

static void answer(int fd, int status)
{
    struct peer *peer = peers[fd];
    char text[128], deferral[48] = "";
    if (peer->deferral_s > 0)
        snprintf(deferral, sizeof deferral, "Duepost-Defer: %lld\r\n", (long long)peer->deferral_s);
    int size =
        snprintf(text, sizeof text, "HTTP/1.1 %d Whatever\r\n%sContent-Length: 0\r\n\r\n", status, deferral);
    fprintf(record, "R %lld %d %s\n", (long long)now_us(), peer->attempt, peer->id);
    set_open(peer, false);
    send_text(fd, text, size);
}

static void begin_drip(int fd)
{
    char text[128];
    int size = snprintf(text, sizeof text, "HTTP/1.1 200 Whatever\r\nContent-Length: %d\r\n\r\n", DRIP_BYTES);
    fprintf(record, "R %lld %d %s\n", (long long)now_us(), peers[fd]->attempt, peers[fd]->id);
    set_open(peers[fd], false);
    add_wait(fd, DRIP_MS, GO_ON_DRIPPING);
    send_text(fd, text, size);
}

static void reset(int fd)
{
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
    close_peer(fd);
}

static void act(int fd, struct slice action)
{
    int status = (int)message_number(action, "");
    int64_t wait_ms = message_number(action, "w");
    peers[fd]->deferral_s = slice_starts_with(action, SLICE("202")) ? message_number(action, "d") : 0;
    if (slice_equal(action, SLICE("reset"))) {
        reset(fd);
    } else if (slice_starts_with(action, SLICE("drip"))) {
        add_wait(fd, wait_ms > 0 ? wait_ms : 0, BEGIN_DRIP);
    } else if (!slice_equal(action, SLICE("hang"))) {
        if (wait_ms > 0)
            add_wait(fd, wait_ms, status);
        else
            answer(fd, status);
    }
}

static void do_waits(void)
{
    while (wait_count > 0 && waits[0].at_us <= now_us()) {
        struct wait wait = take_wait();
        if (!peers[wait.fd] || peers[wait.fd]->number != wait.number)
            continue;
        if (wait.status == BEGIN_DRIP) {
            begin_drip(wait.fd);
        } else if (wait.status != GO_ON_DRIPPING) {
            answer(wait.fd, wait.status);
        } else {
            add_wait(wait.fd, DRIP_MS, GO_ON_DRIPPING);
            send_text(wait.fd, ".", 1);
        }
    }
}

/* ---- requests ---- */

static struct slice value_of(struct slice head, const char *name)
{
    const char *at = memmem(head.data, head.size, name, strlen(name));
    struct slice value, rest;
    if (!at)
        return SLICE("?");
    at += strlen(name);
    slice_cut(slice_from(at, (size_t)(head.data + head.size - at)), '\r', &value, &rest);
    return value;
}

/* Returns the part of the path for this attempt, or the last part if there are fewer parts than attempts. */
static struct slice action_of(struct slice head, int attempt)
{
    struct slice path, rest, action = SLICE("200");
    slice_cut(slice_skip(head, strlen("POST /")), ' ', &path, &rest);
    for (int i = 0; i < attempt && path.size; i++)
        slice_cut(path, '/', &action, &path);
    return action;
}

static void serve(int fd, const struct message *message)
{
    struct peer *peer = peers[fd];
    struct slice topic = value_of(message->head, "Duepost-Topic: ");
    struct slice job_id = value_of(message->head, "Duepost-Job-Id: ");
    struct slice token = value_of(message->head, "Duepost-Token: ");
    char from[INET_ADDRSTRLEN];
    uint32_t address = htonl(peer->address);
    peer->attempt = (int)message_number(message->head, "Duepost-Attempt:");
    snprintf(peer->id, sizeof peer->id, "%.*s/%.*s", SLICE_ARG(topic), SLICE_ARG(job_id));
    struct slice action = action_of(message->head, peer->attempt);
    inet_ntop(AF_INET, &address, from, sizeof from);
    fprintf(record, "A %lld %s %d %.*s %s %.*s\n", (long long)now_us(), from, peer->attempt,
            SLICE_ARG(action), peer->id, SLICE_ARG(token));
    set_open(peer, true);
    act(fd, action);
}

static void on_readable(int fd)
{
    struct peer *peer = peers[fd];
    struct message message;
    uint64_t number = peer->number;
    ssize_t got = read(fd, peer->room + peer->used, sizeof peer->room - peer->used);
    if (got <= 0) {
        close_peer(fd);
        return;
    }
    peer->used += (size_t)got;
    if (!message_read(slice_from(peer->room, peer->used), &message))
        return;
    serve(fd, &message);
    if (peers[fd] && peers[fd]->number == number) {
        peer->used -= message.size;
        memmove(peer->room, peer->room + message.size, peer->used);
    }
}

/* ---- the frame ---- */

static void on_connections(int epoll, int listener)
{
    struct sockaddr_in from;
    socklen_t size = sizeof from;
    for (int fd; (fd = accept4(listener, (void *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        if (fd >= FDS_MAX || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
            close(fd);
            continue;
        }
        peers[fd] = NEW(struct peer);
        peers[fd]->number = ++peer_count;
        peers[fd]->address = ntohl(from.sin_addr.s_addr);
    }
}

static int listen_somewhere(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, 4096) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
        perror("judge");
        exit(EXIT_FAILURE);
    }
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

static void open_files(char **argv)
{
    struct rlimit files = {FDS_MAX, FDS_MAX};
    int fd = open(argv[2], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    setrlimit(RLIMIT_NOFILE, &files); /* raises the limit of open files to the maximum */
    signal(SIGPIPE, SIG_IGN);
    record = fopen(argv[1], "ae");
    if (!record || fd < 0 || ftruncate(fd, GAUGES * sizeof *gauges) != 0) {
        perror("judge");
        exit(EXIT_FAILURE);
    }
    gauges = mmap(NULL, GAUGES * sizeof *gauges, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static int until_next_wait_ms(void)
{
    if (wait_count == 0)
        return -1;
    int64_t left_us = waits[0].at_us - now_us();
    return left_us > 0 ? (int)(left_us / 1000) + 1 : 0;
}

/* Prints the port on stdout and serves until stdin ends. Whenever the program waits for events, its log is
 * complete. */
int main(int argc, char **argv)
{
    struct epoll_event events[EVENTS_MAX];
    if (argc != 3)
        return EXIT_FAILURE;
    open_files(argv);
    int epoll = epoll_create1(EPOLL_CLOEXEC), listener = listen_somewhere();
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &(struct epoll_event){.events = EPOLLIN, .data.fd = listener});
    epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &(struct epoll_event){.events = EPOLLIN});
    for (;;) {
        fflush(record);
        int count = epoll_wait(epoll, events, EVENTS_MAX, until_next_wait_ms());
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd == STDIN_FILENO)
                return EXIT_SUCCESS;
            if (events[i].data.fd == listener)
                on_connections(epoll, listener);
            else if (peers[events[i].data.fd])
                on_readable(events[i].data.fd);
        }
        do_waits();
    }
}
