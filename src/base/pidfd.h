/* pidfd.h - names a process by a descriptor. Unlike a pid, it never names a later process. The functions of
 * this file make the system calls directly, because glibc has functions for them only since version 2.36. */
#ifndef DUEPOST_BASE_PIDFD_H
#define DUEPOST_BASE_PIDFD_H

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* Returns a descriptor, which the caller closes, or -1 with errno. */
static inline int pidfd_of(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Returns 0, or -1 with errno: ESRCH if the process has ended. */
static inline int pidfd_signal(int pidfd, int signal)
{
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

#endif
