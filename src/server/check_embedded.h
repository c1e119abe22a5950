/* check_embedded.h - the lines of duepost check about the private Redis: its program, its directory, its
 * disk, its process. */
#ifndef DUEPOST_SERVER_CHECK_EMBEDDED_H
#define DUEPOST_SERVER_CHECK_EMBEDDED_H

#include "io/loop.h"
#include "server/check_report.h"
#include "server/data_dir.h"
#include "server/options.h"

struct check_embedded {
    int fd;                          /* open directory; -1: not open */
    char path[DATA_DIR_SOCKET_SIZE]; /* path of Redis's socket */
};

/* Returns whether the private Redis runs now and accepts connections. Starts, creates and locks nothing. */
bool check_embedded_find(struct check_report *, struct loop *, const struct options *,
                         struct check_embedded *);
void check_embedded_fini(struct check_embedded *);

#endif
