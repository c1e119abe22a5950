/* redis_server.h - a private redis-server with a clock that the test sets.
 *
 * It listens on a unix socket in a directory of its own. An error here fails the test. The server dies with
 * the process that started it. */
#ifndef DUEPOST_TESTS_REDIS_SERVER_H
#define DUEPOST_TESTS_REDIS_SERVER_H

#include <hiredis/hiredis.h>
#include <stdint.h>

struct redis_server;

struct redis_server *redis_server_start(void);

/* Stops it and removes its directory. NULL is ignored. */
void redis_server_stop(struct redis_server *);

/* Connects. Gives. A reply that takes longer than the deadline fails the test. */
redisContext *redis_server_connect(const struct redis_server *);

/* Stops its wall clock at us since 1970; 0: the clock runs again. */
void redis_server_set_time(struct redis_server *, int64_t us);

/* Runs one command that must succeed. Gives. */
redisReply *redis_command(redisContext *, const char *format, ...);

/* The same without the reply. */
#define redis_do(...) freeReplyObject(redis_command(__VA_ARGS__))

#endif
