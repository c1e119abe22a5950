#include "io/http_peer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include "base/memory.h"

void http_peers_init(struct http_peers *peers, struct http_deadlines *deadlines, struct http_limits *limits)
{
    peers->deadlines = deadlines;
    peers->limits = limits;
    list_init(&peers->extras);
    peers->extra_count = 0;
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
    http_tls_release(peer->tls);
    free(peer);
}
