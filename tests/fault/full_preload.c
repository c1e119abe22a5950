/* full_preload.c - a full disk, for programs started with this in LD_PRELOAD. While the file FULL_BALLAST
 * exists, regular files cannot grow beyond the size of that file. As on a real disk, the write that reaches
 * the end is partial, and the next one gets ENOSPC. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char *ballast; /* copy of FULL_BALLAST, because redis-server overwrites the memory of the environment
                         with its process title */

__attribute__((constructor)) static void read_path(void)
{
    const char *path = getenv("FULL_BALLAST");
    if (path)
        ballast = strdup(path);
}

/* Returns how many of these bytes fit into the file at offset, or at its end if offset is -1. */
static size_t room_for(int fd, off_t offset, size_t size)
{
    struct stat file, limit;
    if (!ballast || fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || stat(ballast, &limit) != 0)
        return size;
    off_t end = limit.st_size > file.st_size ? limit.st_size : file.st_size;
    off_t at = offset >= 0 ? offset : file.st_size;
    size_t left = at < end ? (size_t)(end - at) : 0;
    return size < left ? size : left;
}

static ssize_t refuse(void)
{
    errno = ENOSPC;
    return -1;
}

ssize_t write(int fd, const void *data, size_t size)
{
    size_t room = room_for(fd, -1, size);
    return room == 0 && size > 0 ? refuse() : syscall(SYS_write, fd, data, room);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    size_t room = room_for(fd, offset, size);
    return room == 0 && size > 0 ? refuse() : syscall(SYS_pwrite64, fd, data, room, offset);
}

/* SQLite calls pwrite64. */
ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset)
{
    return pwrite(fd, data, size, offset);
}
