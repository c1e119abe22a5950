/* redis_private.h - the Redis of this server: the private Redis that it runs, and the addresses of the
 * configured one. */
#ifndef DUEPOST_SERVER_REDIS_PRIVATE_H
#define DUEPOST_SERVER_REDIS_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "io/loop.h"
#include "io/redis/redis.h"
#include "job/target/target.h"

/* ---- embedded.c ---- */

/* The private redis-server, or valkey-server, that duepost runs when no --redis is given.
 *
 * The embedded Redis owns a data directory, which only one duepost may use at a time. duepost holds
 * duepost.lock; the kernel releases this lock when duepost dies. redis-server holds redis.lock, which it
 * inherits from duepost, so two redis-servers never use the same files. redis-server has a session of its
 * own, so Ctrl-C stops only duepost, and duepost stops redis-server last. If duepost is killed, redis-server
 * keeps running. The next duepost finds that redis.lock is held and takes over the running redis-server.
 *
 * If redis-server dies, it is started again after 0.1 s, 0.2 s, ... 10 s. When it has run for 30 s, the next
 * delay is 0.1 s again. Redis is not started while the disk of the data directory is full, because a
 * redis-server that fsyncs each write exits when a write fails. */

struct embedded_redis;

/* Finds a program (see redis_program_find), creates data_dir with missing parents, and locks it. Blocks for a
 * moment. Returns STATUS_FAILED if the environment does not allow an embedded Redis; problem then has the
 * reason. Borrows the loop until embedded_redis_free. */
enum status embedded_redis_new(struct loop *, const char *data_dir, const char *program,
                               struct embedded_redis **, struct problem *) MUST_USE;

/* Lets a Redis that is started from now on leave its writes to the kernel: they survive the death of
 * processes, but not that of the host. For a server with a manual clock, which waits for many writes. */
void embedded_redis_leave_unsynced(struct embedded_redis *);

/* Receives the result of a start or a stop. why is "" with STATUS_OK. The function may free the embedded
 * Redis. */
typedef void embedded_redis_fn(void *arg, enum status, const char *why);

/* Returns whether the data directory has no files of jobs. */
bool embedded_redis_is_new(const struct embedded_redis *);

/* Starts or takes over redis-server. Calls on_started once. STATUS_OK means that Redis answers: it has loaded
 * its data, it is still loading after a minute, or the disk is full and Redis will be started when the disk
 * has room. STATUS_FAILED means that redis-server exited. STATUS_UNAVAILABLE means that it does not answer.
 * After a failure, call nothing but embedded_redis_stop. */
void embedded_redis_start(struct embedded_redis *, embedded_redis_fn *on_started, void *arg);

/* Stops redis-server cleanly, or kills it after 15 s. Calls on_stopped once. STATUS_FAILED means that
 * redis-server was killed; confirmed changes are still safe. A pending on_started is not called any more. */
void embedded_redis_stop(struct embedded_redis *, embedded_redis_fn *on_stopped, void *arg);

/* Frees the struct. NULL is ignored. A redis-server that was not stopped keeps running. */
void embedded_redis_free(struct embedded_redis *);

/* Returns the path of the socket, which only this process can use: if the directory's name is too long for a
 * socket's address, the path begins with /proc/self/fd. The path is valid until the embedded Redis is
 * freed. */
const char *embedded_redis_path(const struct embedded_redis *);

/* Returns a pointer to the reason why redis-server does not run, which is a literal, or NULL if no reason is
 * known. Any thread may read the reason until the embedded Redis is freed. */
const char *_Atomic *embedded_redis_outage(struct embedded_redis *);

/* Returns the pid of redis-server, or 0 if it does not run. */
pid_t embedded_redis_pid(const struct embedded_redis *);

/* ---- data_dir.c ---- */

struct data_dir {
    char *path; /* absolute, without symbolic links */
    int fd;
    int lock_fd;
};

/* Opens the data directory and takes duepost.lock. Creates path and missing parents with mode 0700. If other
 * users may read the directory, it gets mode 0700, provided that it is empty or already a data directory. Any
 * other such directory is refused. */
enum status data_dir_open(const char *path, struct data_dir *, struct problem *) MUST_USE;

/* Checks whether data_dir_open could use path. Changes and locks nothing. Sets *exists to whether the
 * directory already exists. */
enum status data_dir_try(const char *path, bool *exists, struct problem *) MUST_USE;

/* Writes the path of a socket in the directory. If the path is too long for a socket's address, it begins
 * with /proc/self/fd. */
enum { DATA_DIR_SOCKET_SIZE = 108 };
void data_dir_socket(const char *path, int fd, const char *name, char text[DATA_DIR_SOCKET_SIZE]);

/* Returns whether the disk has room for DATA_DIR_ROOM_BYTES more. After any error of the disk other than a
 * full disk, returns true, because redis-server reports that error. */
enum { DATA_DIR_ROOM_BYTES = 1 << 20 };
bool data_dir_has_room(int dir_fd);

/* Releases the lock. */
void data_dir_close(struct data_dir *);

/* Locks a file of the directory. The file contains the owner's pid, for people. Returns a descriptor, or -1
 * with errno. EWOULDBLOCK means that another process has the lock; *holder is then its pid, or 0 if the pid
 * is unknown. */
int data_dir_lock(int dir_fd, const char *name, int *holder);

/* Writes the pid of the lock's owner. */
void data_dir_name_holder(int lock_fd, int pid);

/* ---- append_log.c ---- */

/* Without its manifest, redis-server ignores all other files of the append-only file: it starts with no jobs,
 * and writes new changes behind the old ones. */
enum append_log_state { APPEND_LOG_NONE, APPEND_LOG_WHOLE, APPEND_LOG_WITHOUT_MANIFEST };
enum append_log_state append_log_find(int dir_fd);

/* Removes the bytes after the last whole change of the append-only file in the directory dir_fd. No
 * redis-server may use the file. Blocks while it reads the file. Returns the number of removed bytes. If the
 * file is missing, cannot be read or is damaged elsewhere, does nothing, because redis-server reports such
 * errors. */
int64_t append_log_cut(int dir_fd);

/* ---- process.c ---- */

#define REDIS_LOG_NAME "redis.log"

/* Copies the warning with which this redis-server ended: the last line of its log, and after it the line
 * before if this line is a warning, too. Leaves out pid, time and level. words is "" if the last line is not
 * a warning, as after SIGKILL. */
enum { REDIS_LOG_WORDS_MAX = 300 };
void redis_log_last_words(int dir_fd, pid_t, char words[REDIS_LOG_WORDS_MAX]);

/* One redis-server on the data directory, started by this process or taken over.
 *
 * The process is named by a pidfd (a descriptor for a process), which stays correct when the kernel reuses
 * the pid, and becomes readable when the process exits. */

#define REDIS_SOCKET_NAME "redis.sock"

struct redis_process {
    pid_t pid; /* 0: none */
    int pidfd;
    bool is_child;
};

/* The program of a private Redis. */
struct redis_program {
    char *path; /* path of the program; a name without a slash was found in PATH */
    char version[32];
    bool is_unsynced; /* Redis does not fsync its writes */
};

/* Finds the program and runs it with --version; blocks for at most 5 s for each program that it runs. wanted
 * is a path, or a name that is found in PATH; NULL means redis-server, or else valkey-server. Returns
 * STATUS_FAILED if there is no program, or it is older than 7.0. */
enum status redis_program_find(const char *wanted, struct redis_program *, struct problem *) MUST_USE;
void redis_program_fini(struct redis_program *);

/* Starts the program in the directory dir_fd. The process inherits lock_fd. */
enum status redis_process_spawn(const struct redis_program *, int dir_fd, int lock_fd, struct redis_process *,
                                struct problem *) MUST_USE;

void redis_process_signal(const struct redis_process *, int signal);

/* Describes how the process exited. Call it when the pidfd is readable. After the call, the struct does not
 * name a process. */
enum { REDIS_PROCESS_WHY_MAX = 64 };
void redis_process_reap(struct redis_process *, char why[REDIS_PROCESS_WHY_MAX]);

/* Closes the pidfd; the process keeps running. */
void redis_process_forget(struct redis_process *);

struct redis_probe;

enum redis_answer {
    REDIS_ANSWER_NONE,    /* no process listens, or it does not answer within a second */
    REDIS_ANSWER_LOADING, /* Redis runs, but is still loading its data */
    REDIS_ANSWER_PONG,
};

/* Receives the answer. pid and pidfd name the process that answered. pidfd is -1 if there is no answer or the
 * kernel does not report the process. The function takes pidfd. */
typedef void redis_probe_fn(void *arg, enum redis_answer, pid_t pid, int pidfd);

/* Sends PING and calls fn once, unless the probe is cancelled first. */
struct redis_probe *redis_probe_start(struct loop *, const char *path, redis_probe_fn *, void *arg);

/* Cancels the probe; fn is not called any more. NULL is ignored. */
void redis_probe_cancel(struct redis_probe *);

/* Sends a command without waiting for its answer. Returns false if no process listens. */
bool redis_probe_tell(const char *path, const char *command);

/* ---- addresses.c ---- */

/* The addresses of the configured Redis, to which no job may be sent.
 *
 * The addresses are those of the Redis that was configured at the start; a reload does not change it. An
 * address that was found once stays refused, so a name server that does not answer at a reload makes no
 * address allowed. store_is_redis finds the other addresses of Redis: those that Sentinels or a Cluster
 * announce later, and those to which connections lead. */

struct redis_addresses;

struct redis_addresses *redis_addresses_new(void);
void redis_addresses_free(struct redis_addresses *);

/* Resolves the host names of Redis, which may block. Makes policy refuse all addresses that this and earlier
 * calls have found. If an address belongs to this host, the port is refused on all addresses of the host,
 * because Redis usually listens on several addresses. */
void redis_addresses_refuse(struct redis_addresses *, const struct redis_address *, struct target_policy *);

#endif
