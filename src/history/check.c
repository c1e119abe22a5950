/* check.c - finds out whether the database of the history can be used. */
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "history/schema.h"

#define CHECK_US INT64_C(5000000)

static struct driver *open_driver(const struct history_options *options, const atomic_bool *is_stopping)
{
    struct driver *driver =
        options->sqlite_path ? sqlite_new(options->sqlite_path) : postgres_new(options->postgres_url);
    driver->is_stopping = is_stopping;
    driver->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    driver->deadline_us = clock_steady_us() + CHECK_US;
    return driver;
}

static void close_driver(struct driver *driver)
{
    close(driver->stop_fd);
    driver->kind->free(driver);
}

enum status history_check(const struct history_options *options, int64_t *version, struct problem *problem)
{
    atomic_bool is_stopping = false;
    struct driver *driver = open_driver(options, &is_stopping);
    enum status status = driver->kind->find_version(driver, version, problem);
    if (status == STATUS_OK)
        status = schema_check(*version, problem);
    close_driver(driver);
    return status == STATUS_OK ? STATUS_OK : STATUS_UNAVAILABLE;
}

bool history_has_jobs(const struct history_options *options)
{
    static const struct sql query = {
        .text = "SELECT count(*) FROM (SELECT 1 FROM duepost_jobs LIMIT 1) AS first"};
    atomic_bool is_stopping = false;
    struct driver *driver = open_driver(options, &is_stopping);
    struct problem problem;
    int64_t version, jobs = 0;
    bool is_read = driver->kind->find_version(driver, &version, &problem) == STATUS_OK && version > 0 &&
                   driver->kind->query(driver, &query, sql_take_number, &jobs, &problem) == STATUS_OK;
    close_driver(driver);
    return is_read && jobs > 0;
}
