/* mongo_server.h - a private server that speaks MongoDB's protocol, on a port of the loopback interface:
 * mongod if it is on the path, else FerretDB, which tests/history/install builds. An error of these functions
 * fails the test. The server is killed when the process that started it ends. */
#ifndef DUEPOST_TESTS_MONGO_SERVER_H
#define DUEPOST_TESTS_MONGO_SERVER_H

#include <stdbool.h>

struct mongo_server;

/* Returns whether there is a program to start, and duepost can use it. Otherwise prints a line "skipped:
 * ...". */
bool mongo_server_is_there(void);

/* Starts the server with an empty folder of data. */
struct mongo_server *mongo_server_new(void);

/* Stops the server and removes its folder. NULL is ignored. */
void mongo_server_free(struct mongo_server *);

/* mongo_server_kill kills the server, as in a crash. mongo_server_start starts it again on the same files. */
void mongo_server_kill(struct mongo_server *);
void mongo_server_start(struct mongo_server *);

/* Suspend the server, and let it continue. */
void mongo_server_freeze(struct mongo_server *);
void mongo_server_thaw(struct mongo_server *);

/* Writes the url of a database. */
enum { MONGO_URL_SIZE = 128 };
void mongo_server_url(const struct mongo_server *, const char *database, char url[MONGO_URL_SIZE]);

#endif
