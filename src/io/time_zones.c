#include "io/time_zones.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/system.h"

enum { ZONES_MAX = 640, PATH_SIZE = 512 }; /* the tz database has about 600 names */

#define CHECK_US INT64_C(1000000)

/* The version of a zone's file: attributes of the file that change when the file is replaced or rewritten. */
struct file_version {
    dev_t device;
    ino_t inode;
    off_t bytes;
    struct timespec changed;
};

struct kept_zone {
    char name[TIME_ZONE_NAME_MAX + 1];
    uint32_t hash;
    struct time_zone *zone;
    struct file_version version;
    int64_t checked_us, used_us;
};

struct time_zones {
    const char *folder;
    size_t count;
    struct kept_zone kept[ZONES_MAX];
};

struct time_zones *time_zones_new(const char *folder)
{
    struct time_zones *zones = NEW(struct time_zones);
    zones->folder = folder;
    return zones;
}

void time_zones_free(struct time_zones *zones)
{
    for (size_t i = 0; zones && i < zones->count; i++)
        time_zone_free(zones->kept[i].zone);
    free(zones);
}

/* ---- the file ---- */

static void refuse_name(const struct time_zones *zones, struct slice name, struct problem *problem)
{
    struct stat folder;
    if (stat(zones->folder, &folder) != 0)
        problem_set(problem, "cannot be found: the server has no %s; install the package tzdata",
                    zones->folder);
    else
        problem_set(problem,
                    "found '%.*s'; allowed are names of the IANA time zone database, such as Europe/Berlin",
                    name.size < TIME_ZONE_NAME_MAX ? (int)name.size : TIME_ZONE_NAME_MAX, name.data);
}

static bool zone_path(const struct time_zones *zones, struct slice name, char path[PATH_SIZE])
{
    int size = snprintf(path, PATH_SIZE, "%s/%.*s", zones->folder, SLICE_ARG(name));
    return size > 0 && size < PATH_SIZE;
}

static bool read_version(const char *path, struct file_version *version)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    *version = (struct file_version){status.st_dev, status.st_ino, status.st_size, status.st_mtim};
    return true;
}

static bool is_same_version(const struct file_version *a, const struct file_version *b)
{
    return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
           a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

static enum status load_zone(const char *path, struct time_zone **zone, struct problem *problem)
{
    struct buffer bytes;
    enum status status = file_read(path, TIME_ZONE_FILE_MAX, &bytes, problem);
    if (status == STATUS_OK)
        status = time_zone_read(buffer_slice(&bytes), zone, problem);
    buffer_fini(&bytes);
    return status;
}

/* ---- the kept zones ---- */

static struct kept_zone *find_kept(struct time_zones *zones, struct slice name, uint32_t hash)
{
    for (size_t i = 0; i < zones->count; i++)
        if (zones->kept[i].hash == hash && slice_equal(slice_of(zones->kept[i].name), name))
            return &zones->kept[i];
    return NULL;
}

/* Returns an unused element of the cache. If all elements are in use, returns that of the least recently used
 * zone. */
static struct kept_zone *free_place(struct time_zones *zones)
{
    if (zones->count < ZONES_MAX)
        return &zones->kept[zones->count++];
    struct kept_zone *oldest = zones->kept;
    for (size_t i = 1; i < zones->count; i++)
        if (zones->kept[i].used_us < oldest->used_us)
            oldest = &zones->kept[i];
    time_zone_free(oldest->zone);
    return oldest;
}

/* If the file of a kept zone has changed, reads it again. Reads the file's version before its content, so
 * that the next check notices a change that happens in between. */
static void refresh(const struct time_zones *zones, struct kept_zone *kept, int64_t now_us)
{
    char path[PATH_SIZE];
    struct problem problem = {"the file is missing"};
    struct file_version version = {.bytes = 0};
    struct time_zone *zone = NULL;
    if (now_us - kept->checked_us < CHECK_US || !zone_path(zones, slice_of(kept->name), path))
        return;
    kept->checked_us = now_us;
    bool is_there = read_version(path, &version);
    if (is_same_version(&version, &kept->version))
        return;
    kept->version = version;
    if (!is_there || load_zone(path, &zone, &problem) != STATUS_OK) {
        log_error("time_zone_not_read", LOG_TEXT("zone", kept->name), LOG_TEXT("why", problem.text));
        return;
    }
    log_info("time_zone_read_again", LOG_TEXT("zone", kept->name));
    time_zone_free(kept->zone);
    kept->zone = zone;
}

enum status time_zones_find(struct time_zones *zones, struct slice name, const struct time_zone **found,
                            struct problem *problem)
{
    char path[PATH_SIZE];
    struct file_version version;
    struct time_zone *zone = NULL;
    int64_t now_us = clock_steady_us();
    uint32_t hash = hash_of(name);
    if (name.size == 0) {
        *found = time_zone_utc();
        return STATUS_OK;
    }
    struct kept_zone *kept = find_kept(zones, name, hash);
    if (kept) {
        refresh(zones, kept, now_us);
    } else {
        if (!time_zone_name_is_valid(name) || !zone_path(zones, name, path) ||
            !read_version(path, &version)) {
            refuse_name(zones, name, problem);
            return STATUS_INVALID;
        }
        if (load_zone(path, &zone, problem) != STATUS_OK)
            return STATUS_INVALID;
        kept = free_place(zones);
        *kept = (struct kept_zone){.hash = hash, .zone = zone, .version = version, .checked_us = now_us};
        memcpy(kept->name, name.data, name.size);
    }
    kept->used_us = now_us;
    *found = kept->zone;
    return STATUS_OK;
}
