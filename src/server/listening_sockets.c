#include "server/listening_sockets.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_BYTES = 32 * 1024, ANSWER_MS = 1000 };

struct search {
    const struct address *address;
    uint16_t port;
    const ino_t *ours;
    size_t count;
    bool is_over, has_found;
};

static bool is_ours(const struct search *search, ino_t inode)
{
    for (size_t i = 0; i < search->count; i++)
        if (search->ours[i] == inode)
            return true;
    return false;
}

/* The parameter header is not const, because the macros NLMSG_DATA and NLMSG_NEXT cast const away. */
static void read_message(struct search *search, struct nlmsghdr *header)
{
    struct inet_diag_msg found;
    if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY) { /* the end of the answer, or an error */
        search->is_over = true;
        return;
    }
    if (header->nlmsg_len < NLMSG_LENGTH(sizeof found))
        return;
    memcpy(&found, (const char *)header + NLMSG_HDRLEN, sizeof found);
    size_t size = search->address->is_v6 ? 16 : 4;
    if (ntohs(found.id.idiag_sport) == search->port && !is_ours(search, found.idiag_inode) &&
        memcmp(found.id.idiag_src, search->address->bytes, size) == 0)
        search->has_found = true;
}

static bool listening_sockets_ask(int fd, bool is_v6)
{
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 question;
    } message = {
        .header = {.nlmsg_len = sizeof message,
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .question = {.sdiag_family = is_v6 ? AF_INET6 : AF_INET,
                     .sdiag_protocol = IPPROTO_TCP,
                     .idiag_states = 1U << TCP_LISTEN},
    };
    return send(fd, &message, sizeof message, 0) == (ssize_t)sizeof message;
}

/* Receives one datagram of the answer. The kernel answers at once. */
static void read_part(struct search *search, int fd)
{
    static _Alignas(struct nlmsghdr) char answer[ANSWER_BYTES];
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    ssize_t size = poll(&ready, 1, ANSWER_MS) == 1 ? recv(fd, answer, sizeof answer, 0) : -1;
    if (size <= 0)
        search->is_over = true;
    int left = (int)size;
    for (struct nlmsghdr *header = (struct nlmsghdr *)(void *)answer;
         left > 0 && NLMSG_OK(header, (unsigned)left) && !search->is_over; header = NLMSG_NEXT(header, left))
        read_message(search, header);
}

bool listening_sockets_find(const struct address *address, uint16_t port, const ino_t *ours, size_t count)
{
    struct search search = {.address = address, .port = port, .ours = ours, .count = count};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return false;
    search.is_over = !listening_sockets_ask(fd, address->is_v6);
    while (!search.is_over)
        read_part(&search, fd);
    close(fd);
    return search.has_found;
}
