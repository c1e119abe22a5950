/* source_preload.c - a source address for a program's connections, when it is started with this in
 * LD_PRELOAD. Connections to 127.0.0.0/8 come from TEST_SOURCE, so that a receiver can distinguish the
 * senders. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct sockaddr_in source = {.sin_family = AF_INET};

__attribute__((constructor)) static void read_source(void)
{
    const char *text = getenv("TEST_SOURCE");
    if (text)
        inet_pton(AF_INET, text, &source.sin_addr);
}

int connect(int fd, const struct sockaddr *address, socklen_t size)
{
    const struct sockaddr_in *to = (const void *)address;
    if (to->sin_family == AF_INET && source.sin_addr.s_addr && ntohl(to->sin_addr.s_addr) >> 24 == 127) {
        setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &(int){1}, sizeof(int));
        if (bind(fd, (const struct sockaddr *)&source, sizeof source) != 0)
            return -1;
    }
    return (int)syscall(SYS_connect, fd, address, size);
}
