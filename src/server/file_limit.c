#include "server/file_limit.h"

#include <sys/resource.h>

#include "base/log.h"

enum {
    FILES_MIN = 1024
}; /* descriptors needed in addition to one for each client connection and two for each attempt: its
      connection and an idle one */

int64_t file_limit_wanted(const struct options *options)
{
    return options->max_connections + 2 * options->max_in_flight + FILES_MIN;
}

int64_t file_limit_max(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max > INT64_MAX)
        return INT64_MAX;
    return (int64_t)limit.rlim_max;
}

void file_limit_raise(const struct options *options)
{
    int64_t wanted = file_limit_wanted(options);
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < (rlim_t)wanted)
        log_warning("file_limit_is_low", LOG_NUMBER("limit", limit.rlim_cur), LOG_NUMBER("wanted", wanted));
}
