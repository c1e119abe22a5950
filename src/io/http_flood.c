#include "io/http_flood.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* These limits are far above the size that the head and body of one answer may have. */
enum { READS_UNCOUNTED = 64, FLOOD_BYTES = 256 * 1024 };

static uint64_t bytes_received(int fd)
{
    struct tcp_info info = {.tcpi_bytes_received = 0};
    socklen_t size = sizeof info;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_bytes_received : 0;
}

bool http_flood_has_come(struct http_flood *flood, int fd)
{
    if (++flood->reads % READS_UNCOUNTED != 0)
        return false;
    uint64_t received = bytes_received(fd);
    if (flood->reads > READS_UNCOUNTED)
        return received - flood->received > FLOOD_BYTES;
    flood->received = received;
    return false;
}
