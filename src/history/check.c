/* check.c - finds out whether the database of the history can be used. */
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "history/schema.h"

#define CHECK_US INT64_C(5000000)

enum status history_check(const struct history_options *options, int64_t *version, struct problem *problem)
{
    atomic_bool is_stopping = false;
    struct driver *driver =
        options->sqlite_path ? sqlite_new(options->sqlite_path) : postgres_new(options->postgres_url);
    driver->is_stopping = &is_stopping;
    driver->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    driver->deadline_us = clock_steady_us() + CHECK_US;
    enum status status = driver->kind->find_version(driver, version, problem);
    if (status == STATUS_OK)
        status = schema_check(*version, problem);
    close(driver->stop_fd);
    driver->kind->free(driver);
    return status == STATUS_OK ? STATUS_OK : STATUS_UNAVAILABLE;
}
