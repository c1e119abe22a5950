/* redis_server.h - a private redis-server with a clock that the test sets.
 *
 * It listens on a unix socket in its own directory. An error of these functions fails the test. The server is
 * killed when the process that started it ends. */
#ifndef DUEPOST_TESTS_REDIS_SERVER_H
#define DUEPOST_TESTS_REDIS_SERVER_H

#include <hiredis/hiredis.h>
#include <stdint.h>

struct redis_server;

struct redis_server *redis_server_start(void);

/* Stops the server and removes its directory. NULL is ignored. */
void redis_server_stop(struct redis_server *);

/* Connects. The caller frees the result with redisFree. A reply that takes longer than the deadline fails the
 * test. */
redisContext *redis_server_connect(const struct redis_server *);

/* Stops the server's wall clock at this time since 1970; 0: the clock runs again. */
void redis_server_set_time(struct redis_server *, int64_t us);

/* Runs one command that must succeed. The caller frees the reply. */
redisReply *redis_command(redisContext *, const char *format, ...);

/* Runs one command that must succeed, and frees its reply. */
#define redis_do(...) freeReplyObject(redis_command(__VA_ARGS__))

#endif
