#include "io/http/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"

/* ---- deadlines ---- */

/* The deadlines of each step are in one list. All deadlines of a step are equally long, so each list is in
 * the order of time. */
struct http_deadlines {
    struct loop *loop;
    struct timer *timer;
    int64_t step_us[HTTP_STEP_COUNT];
    struct list steps[HTTP_STEP_COUNT];
};

static struct http_deadline *first_of(struct list *step)
{
    return list_is_empty(step) ? NULL : LIST_ENTRY(step->next, struct http_deadline, link);
}

/* Makes the timer fire at this time, unless it fires earlier anyway. If the timer fires before the first
 * deadline has come, it is set again. */
static void wake_at(struct http_deadlines *deadlines, int64_t at_us)
{
    timer_arm_within(deadlines->timer, at_us - loop_now_us(deadlines->loop));
}

static void start(struct http_deadlines *deadlines, struct http_deadline *deadline)
{
    deadline->at_us = loop_now_us(deadlines->loop) + deadlines->step_us[deadline->step];
    list_append(&deadlines->steps[deadline->step], &deadline->link);
    wake_at(deadlines, deadline->at_us);
}

static uint64_t received_bytes(int fd)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_bytes_received : 0;
}

/* Returns whether the connection received more bytes between two checks, without completing a request line. A
 * connection that receives nothing is idle, which is allowed. */
static bool is_dribbling(struct http_deadline *deadline)
{
    uint64_t before = deadline->received_bytes;
    deadline->received_bytes = received_bytes(deadline->fd);
    return before && deadline->received_bytes > before;
}

static void strike(struct http_deadlines *deadlines, struct http_deadline *deadline)
{
    if (deadline->step != HTTP_STEP_NEXT || is_dribbling(deadline)) {
        http_deadline_cut(deadline);
        return;
    }
    list_remove(&deadline->link);
    start(deadlines, deadline);
}

static void strike_late(struct http_deadlines *deadlines, int64_t now_us)
{
    for (int step = 0; step < HTTP_STEP_COUNT; step++) {
        struct http_deadline *first;
        while ((first = first_of(&deadlines->steps[step])) && first->at_us <= now_us)
            strike(deadlines, first);
    }
}

static void deadlines_on_timer(void *arg)
{
    struct http_deadlines *deadlines = arg;
    int64_t now_us = loop_now_us(deadlines->loop);
    strike_late(deadlines, now_us);
    for (int step = 0; step < HTTP_STEP_COUNT; step++) {
        struct http_deadline *first = first_of(&deadlines->steps[step]);
        if (first)
            wake_at(deadlines, first->at_us);
    }
}

struct http_deadlines *http_deadlines_new(struct loop *loop, const int64_t step_ms[HTTP_STEP_COUNT])
{
    struct http_deadlines *deadlines = NEW(struct http_deadlines);
    deadlines->loop = loop;
    deadlines->timer = timer_new(loop, deadlines_on_timer, deadlines);
    for (int step = 0; step < HTTP_STEP_COUNT; step++) {
        deadlines->step_us[step] = step_ms[step] * 1000;
        list_init(&deadlines->steps[step]);
    }
    return deadlines;
}

void http_deadlines_free(struct http_deadlines *deadlines)
{
    timer_free(deadlines->timer);
    free(deadlines);
}

void http_deadline_init(struct http_deadline *deadline, int fd)
{
    *deadline = (struct http_deadline){.step = HTTP_STEP_WORK, .fd = fd};
    list_init(&deadline->link);
}

void http_deadline_start(struct http_deadlines *deadlines, struct http_deadline *deadline,
                         enum http_step step)
{
    http_deadline_clear(deadline);
    deadline->step = step;
    deadline->received_bytes = 0;
    if (step != HTTP_STEP_WORK)
        start(deadlines, deadline);
}

void http_deadline_clear(struct http_deadline *deadline)
{
    list_remove(&deadline->link);
    deadline->step = HTTP_STEP_WORK;
}

void http_deadline_cut(struct http_deadline *deadline)
{
    http_deadline_clear(deadline);
    shutdown(deadline->fd, SHUT_RDWR);
}

struct http_deadline *http_deadlines_cut_first(struct http_deadlines *deadlines, enum http_step step)
{
    struct http_deadline *first = first_of(&deadlines->steps[step]);
    if (first)
        http_deadline_cut(first);
    return first;
}

/* ---- lingering connections ---- */

enum { LINGER_READ_BYTES = 16 * 1024 };

struct lingerer {
    struct list link;
    struct http_peers *peers;
    struct watch *watch;
    int fd;
    int64_t until_us;
    size_t dropped_bytes;
};

static void lingerer_free(struct lingerer *lingerer)
{
    list_remove(&lingerer->link);
    lingerer->peers->lingerer_count--;
    watch_free(lingerer->watch);
    close(lingerer->fd);
    free(lingerer);
}

/* Drops bytes of the client. After HTTP_LINGER_BYTES, reads no more: the client then has the rest of the time
 * to read its answer. */
static void on_late_bytes(void *arg, bool readable, bool writable)
{
    struct lingerer *lingerer = arg;
    char bytes[LINGER_READ_BYTES];
    (void)readable, (void)writable;
    ssize_t size = read(lingerer->fd, bytes, sizeof bytes);
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) {
        lingerer_free(lingerer);
        return;
    }
    lingerer->dropped_bytes += size > 0 ? (size_t)size : 0;
    if (lingerer->dropped_bytes >= HTTP_LINGER_BYTES)
        watch_set(lingerer->watch, false, false);
}

static struct lingerer *oldest_lingerer(struct http_peers *peers)
{
    return list_is_empty(&peers->lingerers) ? NULL : LIST_ENTRY(peers->lingerers.next, struct lingerer, link);
}

static void on_linger_timer(void *arg)
{
    struct http_peers *peers = arg;
    struct lingerer *oldest;
    int64_t now_us = loop_now_us(peers->loop);
    while ((oldest = oldest_lingerer(peers)) && oldest->until_us <= now_us)
        lingerer_free(oldest);
    if (oldest)
        timer_arm(peers->linger_timer, oldest->until_us - now_us);
}

static void linger(struct http_peers *peers, int connection_fd)
{
    int fd = fcntl(connection_fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return;
    shutdown(fd, SHUT_WR); /* libmicrohttpd has done this, but not under TLS */
    struct lingerer *lingerer = NEW(struct lingerer);
    lingerer->peers = peers;
    lingerer->fd = fd;
    lingerer->until_us = loop_now_us(peers->loop) + HTTP_LINGER_MS * INT64_C(1000);
    lingerer->watch = watch_new(peers->loop, fd, on_late_bytes, lingerer);
    watch_set(lingerer->watch, true, false);
    list_append(&peers->lingerers, &lingerer->link);
    if (++peers->lingerer_count > HTTP_LINGERERS_MAX)
        lingerer_free(oldest_lingerer(peers));
    timer_arm(peers->linger_timer, HTTP_LINGER_MS * INT64_C(1000));
}

/* ---- connections ---- */

/* States of a socket, as in netinet/tcp.h. That header cannot be included together with linux/tcp.h, and its
 * struct tcp_info has no tcpi_bytes_received. */
enum { TCP_ESTABLISHED = 1, TCP_CLOSE = 7 };

void http_peers_init(struct http_peers *peers, struct loop *loop, struct http_deadlines *deadlines,
                     struct http_limits *limits)
{
    *peers = (struct http_peers){.deadlines = deadlines, .limits = limits, .loop = loop};
    list_init(&peers->extras);
    list_init(&peers->lingerers);
    peers->linger_timer = timer_new(loop, on_linger_timer, peers);
}

void http_peers_fini(struct http_peers *peers)
{
    while (!list_is_empty(&peers->lingerers))
        lingerer_free(oldest_lingerer(peers));
    timer_free(peers->linger_timer);
}

static void forget_extra(struct http_peer *peer)
{
    if (list_is_empty(&peer->extra_link))
        return;
    list_remove(&peer->extra_link);
    peer->peers->extra_count--;
}

/* Makes room for a new connection: shuts the connection that has waited longest for its next request. HTTP
 * clients must expect that a server closes an idle connection at any time. Returns false if no connection is
 * idle. */
static bool cut_idle(struct http_peers *peers)
{
    struct http_deadline *idle = http_deadlines_cut_first(peers->deadlines, HTTP_STEP_NEXT);
    if (!idle)
        return false;
    http_limits_leave(peers->limits, &LIST_ENTRY(idle, struct http_peer, deadline)->share);
    return true;
}

static bool has_room(struct http_peer *peer, const struct sockaddr *from)
{
    struct http_peers *peers = peer->peers;
    if (!peers->limits)
        return false;
    enum http_room room = http_limits_enter(peers->limits, from, &peer->share);
    if (room == HTTP_ROOM_NONE && cut_idle(peers))
        room = http_limits_enter(peers->limits, from, &peer->share);
    return room == HTTP_ROOM;
}

static void become_extra(struct http_peer *peer)
{
    struct http_peers *peers = peer->peers;
    peer->is_extra = true;
    list_append(&peers->extras, &peer->extra_link);
    if (++peers->extra_count <= HTTP_EXTRAS_MAX)
        return;
    struct http_peer *oldest = LIST_ENTRY(peers->extras.next, struct http_peer, extra_link);
    forget_extra(oldest);
    http_deadline_cut(&oldest->deadline);
}

struct http_peer *http_peer_new(struct http_peers *peers, int fd, const struct sockaddr *from)
{
    struct http_peer *peer = NEW(struct http_peer);
    peer->peers = peers;
    list_init(&peer->extra_link);
    http_deadline_init(&peer->deadline, fd);
    http_deadline_start(peers->deadlines, &peer->deadline, HTTP_STEP_HEAD);
    if (!has_room(peer, from))
        become_extra(peer);
    return peer;
}

static int state_of(const struct http_peer *peer)
{
    struct tcp_info info = {.tcpi_state = TCP_ESTABLISHED};
    socklen_t size = sizeof info;
    if (getsockopt(peer->deadline.fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return TCP_ESTABLISHED;
    return info.tcpi_state;
}

bool http_peer_has_left(const struct http_peer *peer)
{
    return state_of(peer) != TCP_ESTABLISHED;
}

bool http_peer_is_broken(const struct http_peer *peer)
{
    return state_of(peer) == TCP_CLOSE;
}

void http_peer_free(struct http_peer *peer)
{
    forget_extra(peer);
    http_deadline_clear(&peer->deadline);
    if (peer->peers->limits)
        http_limits_leave(peer->peers->limits, &peer->share);
    if (peer->lingers)
        linger(peer->peers, peer->deadline.fd);
    http_tls_release(peer->tls);
    free(peer);
}
