/* web_files.h - the table of the dashboard's files, which embed.cmake generates. */
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

/* A page. Its URL path has no hash. It is also stored uncompressed, for clients that do not accept gzip. */
struct web_page {
    struct slice type, plain, gzip;
};

extern const struct web_page web_index, web_docs, web_contract;

extern const struct slice web_hash; /* hash of all files and pages */

#endif
