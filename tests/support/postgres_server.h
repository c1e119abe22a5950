/* postgres_server.h - a private server of Debian's PostgreSQL. It listens on a unix socket in its own
 * directory. If the test runs as root, the server runs as the user postgres, because PostgreSQL refuses to
 * run as root. An error of these functions fails the test. The server is killed when the process that started
 * it ends. */
#ifndef DUEPOST_TESTS_POSTGRES_SERVER_H
#define DUEPOST_TESTS_POSTGRES_SERVER_H

#include <stdint.h>
#include <sys/types.h>

struct postgres_server;

/* Creates the files, and starts the server. */
struct postgres_server *postgres_server_new(void);

/* Stops the server and removes its directory. NULL is ignored. */
void postgres_server_free(struct postgres_server *);

/* postgres_server_kill kills the server, as in a crash. postgres_server_start starts it again on the same
 * files. */
void postgres_server_kill(struct postgres_server *);
void postgres_server_start(struct postgres_server *);

/* Suspend all processes of the server, and let them continue. */
void postgres_server_freeze(struct postgres_server *);
void postgres_server_thaw(struct postgres_server *);

/* Writes the url of a database for this user. The user postgres needs no password, all others do. */
enum { POSTGRES_URL_SIZE = 256 };
void postgres_server_url(const struct postgres_server *, const char *user, const char *database,
                         char url[POSTGRES_URL_SIZE]);

/* Runs SQL that must succeed, as postgres. Returns the first value of the result as a number, or 0. */
int64_t postgres_server_run(const struct postgres_server *, const char *database, const char *sql);

#endif
