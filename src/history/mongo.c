#include <stdlib.h>

#include "history/driver.h"

#ifdef DUEPOST_MONGODB
#else

enum status mongo_url_check(const char *url, bool *has_password, struct problem *problem)
{
    (void)url;
    *has_password = false;
    problem_set(problem, "cannot be MongoDB, because this duepost was built without it. Build it again with "
                         "libmongoc (Debian's package libmongoc-dev)");
    return STATUS_INVALID;
}

struct driver *mongo_new(const char *url)
{
    (void)url;
    abort(); /* mongo_url_check refuses each url */
}

bool mongo_library(struct library *library)
{
    (void)library;
    return false;
}

#endif
