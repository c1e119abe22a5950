/* full_preload.c - a full disk, for programs started with this in LD_PRELOAD. While the file FULL_BALLAST
 * exists, regular files cannot grow beyond the size of that file. As on a real disk, the write that reaches
 * the end is partial, and the next one gets ENOSPC. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char *ballast; /* a copy: redis-server writes its title where the environment was */

__attribute__((constructor)) static void read_path(void)
{
    const char *path = getenv("FULL_BALLAST");
    if (path)
        ballast = strdup(path);
}

ssize_t write(int fd, const void *data, size_t size)
{
    struct stat file, limit;
    if (ballast && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && stat(ballast, &limit) == 0) {
        off_t left = file.st_size < limit.st_size ? limit.st_size - file.st_size : 0;
        if (left == 0) {
            errno = ENOSPC;
            return -1;
        }
        if (size > (size_t)left)
            size = (size_t)left;
    }
    return syscall(SYS_write, fd, data, size);
}
