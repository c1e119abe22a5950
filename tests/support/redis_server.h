/* redis_server.h - a private redis-server with a clock that the test sets.
 *
 * It listens on a unix socket in a directory of its own. What fails here fails the test; the server
 * dies with the process that started it. */
#ifndef DUEPOST_TESTS_REDIS_SERVER_H
#define DUEPOST_TESTS_REDIS_SERVER_H

#include <hiredis/hiredis.h>
#include <stdint.h>

struct redis_server;

struct redis_server *redis_server_start(void);

/* Ends it and removes its directory. NULL is fine. */
void redis_server_stop(struct redis_server *);

/* Gives. Every reply that takes longer than a deadline fails the test. */
redisContext *redis_server_connect(const struct redis_server *);

/* From now on its wall clock stands still at us since 1970; 0: it goes again. */
void redis_server_set_time(struct redis_server *, int64_t us);

/* One command that must succeed. Gives. */
redisReply *redis_command(redisContext *, const char *format, ...);

/* The same where only success counts. */
#define redis_do(...) freeReplyObject(redis_command(__VA_ARGS__))

#endif
