/* web_files.h - the table of the dashboard's files, which embed.cmake makes. */
#ifndef DUEPOST_WEB_WEB_FILES_H
#define DUEPOST_WEB_WEB_FILES_H

#include "base/slice.h"

struct web_file {
    struct slice path; /* such as "parts/table.js" */
    struct slice type; /* for Content-Type */
    struct slice gzip; /* the file, compressed */
};

extern const struct web_file web_files[];
extern const size_t web_file_count;

extern const struct slice web_hash;       /* of all files */
extern const struct slice web_index;      /* index.html, for clients that do not accept gzip */
extern const struct slice web_index_gzip; /* the same, compressed */

#endif
