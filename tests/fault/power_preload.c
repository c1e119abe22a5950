/* power_preload.c - records which parts of a program's files are on disk, for programs started with this in
 * LD_PRELOAD.
 *
 * After each fsync or fdatasync of a regular file, the file POWER_LOG gets a line: the inode, and the size
 * that the file had before the call. Bytes beyond that size would be lost in a power cut. POWER_SLOW_US makes
 * each such call take longer, like a slow disk. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int log_fd = -1;
static useconds_t slow_us;

__attribute__((constructor)) static void open_log(void)
{
    const char *path = getenv("POWER_LOG"), *slow = getenv("POWER_SLOW_US");
    if (path)
        log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (slow)
        slow_us = (useconds_t)atoi(slow);
}

/* Syncs, and writes the line with one system call, so that lines of several threads do not mix. */
static int sync_and_tell(int fd, long call)
{
    struct stat before;
    char line[64];
    int is_file = fstat(fd, &before) == 0 && S_ISREG(before.st_mode);
    if (is_file && slow_us)
        usleep(slow_us);
    int result = (int)syscall(call, fd);
    if (result == 0 && is_file && log_fd >= 0) {
        int size = snprintf(line, sizeof line, "%llu %lld\n", (unsigned long long)before.st_ino,
                            (long long)before.st_size);
        if (write(log_fd, line, (size_t)size) != size)
            abort();
    }
    return result;
}

int fsync(int fd)
{
    return sync_and_tell(fd, SYS_fsync);
}

int fdatasync(int fd)
{
    return sync_and_tell(fd, SYS_fdatasync);
}
