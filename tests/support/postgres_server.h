/* postgres_server.h - a private PostgreSQL of Debian's.
 *
 * It listens on a unix socket in a directory of its own. As root it runs as the user postgres, because
 * PostgreSQL refuses to run as root. An error here fails the test. The server dies with the process that
 * started it. */
#ifndef DUEPOST_TESTS_POSTGRES_SERVER_H
#define DUEPOST_TESTS_POSTGRES_SERVER_H

#include <stdint.h>
#include <sys/types.h>

struct postgres_server;

/* Makes the files, and starts the server. */
struct postgres_server *postgres_server_new(void);

/* Stops it and removes its directory. NULL is ignored. */
void postgres_server_free(struct postgres_server *);

/* Kill the server as a crash would, and start it again on the same files. */
void postgres_server_kill(struct postgres_server *);
void postgres_server_start(struct postgres_server *);

/* Stop all its processes for a while, and let them go on. */
void postgres_server_freeze(struct postgres_server *);
void postgres_server_thaw(struct postgres_server *);

/* Writes the url of a database for this user. The user postgres needs no password, all others do. */
enum { POSTGRES_URL_SIZE = 256 };
void postgres_server_url(const struct postgres_server *, const char *user, const char *database,
                         char url[POSTGRES_URL_SIZE]);

/* Runs SQL that must succeed, as postgres. Returns the first value of the result as a number, or 0. */
int64_t postgres_server_run(const struct postgres_server *, const char *database, const char *sql);

#endif
