#include <libpq-fe.h>
#include <string.h>

#include "history/driver.h"

enum status history_url_check(const char *url, bool *has_password, struct problem *problem)
{
    static const char form[] =
        "must be postgresql://[user[:password]@]host[:port]/database, perhaps with parameters "
        "such as ?sslmode=verify-full&sslrootcert=FILE&passfile=FILE";
    *has_password = false;
    PQconninfoOption *options = PQconninfoParse(url, NULL);
    if (!options) { /* libpq's message may show a part of a password */
        problem_set(problem, "%s", form);
        return STATUS_INVALID;
    }
    for (const PQconninfoOption *option = options; option->keyword; option++)
        *has_password |= option->val && strcmp(option->keyword, "password") == 0;
    PQconninfoFree(options);
    return STATUS_OK;
}

struct driver *postgres_new(const char *url)
{
    (void)url;
    return NULL;
}
