#include "base/random.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

void random_fill(void *bytes, size_t size)
{
    char *at = bytes;
    while (size) {
        ssize_t got = getrandom(at, size, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            abort();
        at += got;
        size -= (size_t)got;
    }
}
