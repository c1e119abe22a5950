/* data_dir.c - the private directory of the embedded Redis, which only one duepost may use at a time. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/slice.h"
#include "server/redis/redis_private.h"

#define LOCK_NAME "duepost.lock"
#define ROOM_NAME "duepost.room"

static enum status data_dir_refuse(struct problem *problem, const char *path, const char *what)
{
    problem_set(problem, "the data directory %.200s %s", path, what);
    return STATUS_FAILED;
}

/* Sets the problem to the reason in errno. */
static enum status data_dir_fail(struct problem *problem, const char *path)
{
    problem_set(problem, "cannot use the data directory %.200s: %s", path, strerror(errno));
    return STATUS_FAILED;
}

static enum status make_all(const char *path, struct problem *problem)
{
    char *part = slice_dup(slice_of(path));
    enum status status = STATUS_OK;
    for (char *slash = part + 1; slash && status == STATUS_OK;) {
        slash = strchr(slash, '/');
        if (slash)
            *slash = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST) {
            problem_set(problem, "cannot create the directory %.200s: %s", part, strerror(errno));
            status = STATUS_FAILED;
        }
        if (slash)
            *slash++ = '/';
    }
    free(part);
    return status;
}

static bool is_empty(int fd)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (!dir)
        return false;
    bool empty = true;
    for (const struct dirent *entry; empty && (entry = readdir(dir));)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    closedir(dir);
    return empty;
}

/* Refuses a directory of another user or with other files, such as /srv or /tmp, because the operator may
 * have named it by mistake. Sets *is_private to true if only its owner may read the directory, so that its
 * mode need not be changed. */
static enum status judge_dir(int fd, const char *path, bool *is_private, struct problem *problem)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0)
        return data_dir_fail(problem, path);
    if (stat.st_uid != geteuid())
        return data_dir_refuse(
            problem, path, "belongs to another user; start duepost as that user or choose another --data");
    *is_private = (stat.st_mode & 077) == 0;
    if (!*is_private && faccessat(fd, LOCK_NAME, F_OK, 0) != 0 && !is_empty(fd))
        return data_dir_refuse(
            problem, path,
            "is readable by other users and has other files; chmod 700 it or choose another --data");
    return STATUS_OK;
}

static enum status make_private(int fd, const char *path, struct problem *problem)
{
    bool is_private;
    enum status status = judge_dir(fd, path, &is_private, problem);
    if (status == STATUS_OK && !is_private && fchmod(fd, 0700) != 0)
        return data_dir_refuse(problem, path,
                               "is readable by other users and its mode cannot be changed; chmod 700 it");
    return status;
}

/* Finds the directory in which path, or its first missing parent, would be created. */
static enum status try_parent(const char *path, struct problem *problem)
{
    char *part = slice_dup(slice_of(path));
    for (char *slash; access(part, F_OK) != 0 && (slash = strrchr(part, '/')) && slash != part;)
        *slash = '\0';
    const char *parent = access(part, F_OK) == 0 ? part : part[0] == '/' ? "/" : ".";
    bool is_writable = access(parent, W_OK | X_OK) == 0;
    if (!is_writable)
        problem_set(problem, "cannot create the directory %.200s: %s", path, strerror(errno));
    free(part);
    return is_writable ? STATUS_OK : STATUS_FAILED;
}

enum status data_dir_try(const char *path, bool *exists, struct problem *problem)
{
    bool is_private;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *exists = fd >= 0;
    if (fd < 0 && errno == ENOENT)
        return try_parent(path, problem);
    if (fd < 0)
        return data_dir_fail(problem, path);
    enum status status = judge_dir(fd, path, &is_private, problem);
    close(fd);
    return status;
}

static int read_holder(int fd)
{
    char text[16];
    uint64_t pid = 0;
    ssize_t size = pread(fd, text, sizeof text, 0);
    if (size < 1 || text[size - 1] != '\n' ||
        !slice_to_number(slice_from(text, (size_t)size - 1), INT_MAX, &pid))
        return 0;
    return (int)pid;
}

int data_dir_lock(int dir_fd, const char *name, int *holder)
{
    int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    *holder = 0;
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    int error = errno;
    *holder = read_holder(fd);
    close(fd);
    errno = error;
    return -1;
}

void data_dir_name_holder(int lock_fd, int pid)
{
    char text[16];
    int size = snprintf(text, sizeof text, "%d\n", pid);
    /* A failed write is ignored: the pid is only information for people, and a full disk must not stop
     * duepost. */
    if (ftruncate(lock_fd, 0) != 0 || pwrite(lock_fd, text, (size_t)size, 0) != size)
        return;
}

static enum status lock(struct data_dir *dir, struct problem *problem)
{
    int holder;
    dir->lock_fd = data_dir_lock(dir->fd, LOCK_NAME, &holder);
    /* Locks the directory, too, because the lock file of a running duepost may have been deleted. Some
     * file systems cannot lock directories; there, only the file protects. */
    if (dir->lock_fd >= 0 && flock(dir->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        problem_set(problem, "another duepost already uses %.200s, although its " LOCK_NAME " was deleted",
                    dir->path);
        return STATUS_FAILED;
    }
    if (dir->lock_fd >= 0) {
        data_dir_name_holder(dir->lock_fd, getpid());
        return STATUS_OK;
    }
    if (errno != EWOULDBLOCK)
        problem_set(problem, "cannot lock %.200s/" LOCK_NAME ": %s", dir->path, strerror(errno));
    else if (holder)
        problem_set(problem, "the duepost with pid %d already uses %.200s", holder, dir->path);
    else
        problem_set(problem, "another duepost already uses %.200s", dir->path);
    return STATUS_FAILED;
}

enum status data_dir_open(const char *path, struct data_dir *dir, struct problem *problem)
{
    *dir = (struct data_dir){.fd = -1, .lock_fd = -1};
    enum status status = make_all(path, problem);
    if (status != STATUS_OK)
        return status;
    dir->path = realpath(path, NULL);
    dir->fd = dir->path ? open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (dir->fd < 0)
        status = data_dir_fail(problem, path);
    else
        status = make_private(dir->fd, dir->path, problem);
    if (status == STATUS_OK)
        status = lock(dir, problem);
    if (status != STATUS_OK)
        data_dir_close(dir);
    return status;
}

void data_dir_socket(const char *path, int fd, const char *name, char text[DATA_DIR_SOCKET_SIZE])
{
    if (snprintf(text, DATA_DIR_SOCKET_SIZE, "%s/%s", path, name) >= DATA_DIR_SOCKET_SIZE)
        snprintf(text, DATA_DIR_SOCKET_SIZE, "/proc/self/fd/%d/%s", fd, name);
}

/* Allocates the bytes in a file and frees them. Querying the free space of the disk would not be enough,
 * because a quota may be smaller. */
bool data_dir_has_room(int dir_fd)
{
    int fd = openat(dir_fd, ROOM_NAME, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    int error = fd < 0 ? errno : posix_fallocate(fd, 0, DATA_DIR_ROOM_BYTES);
    unlinkat(dir_fd, ROOM_NAME, 0);
    if (fd >= 0)
        close(fd);
    return error != ENOSPC && error != EDQUOT;
}

void data_dir_close(struct data_dir *dir)
{
    if (dir->lock_fd >= 0)
        close(dir->lock_fd);
    if (dir->fd >= 0)
        close(dir->fd);
    free(dir->path);
    *dir = (struct data_dir){.fd = -1, .lock_fd = -1};
}
