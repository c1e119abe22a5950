/* When libcurl may look up a name, and when it must. */
#include "io/http/client_private.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/memory.h"

/* The time follows libc's default: two tries of 5 s at each of up to three name servers. */
#define ABANDONED_US INT64_C(30000000)
/* libcurl caches a name for 60 s. A call that is allowed now may begin up to 5 s later. */
#define FOUND_US INT64_C(55000000)

#define RENEWAL_US INT64_C(1000000)

enum { NAME_SLOTS = 4096 };

struct name {
    int64_t found_us;   /* time at which the name was last found */
    int64_t renewed_us; /* time at which the name was last removed from libcurl's cache */
    bool has_failed;    /* no connection could be opened since then */
};

struct name_lookups {
    int64_t abandoned_us[NAME_LOOKUPS_MAX]; /* ring of the start times of abandoned lookups; first is the
                                               index of the oldest time */
    size_t first, count;
    /* The names by their hash. If two names share a slot, a few lookups too many are allowed, or one of the
     * names is renewed later. */
    struct name names[NAME_SLOTS];
};

struct name_lookups *name_lookups_new(void)
{
    return NEW(struct name_lookups);
}

void name_lookups_free(struct name_lookups *lookups)
{
    free(lookups);
}

/* Returns "host:port" as spelt. */
static struct slice authority_of(struct slice url)
{
    const char *slashes = url.size ? memmem(url.data, url.size, "//", 2) : NULL;
    struct slice rest = slashes ? slice_skip(url, (size_t)(slashes - url.data) + 2) : url;
    size_t size = 0;
    while (size < rest.size && rest.data[size] != '/' && rest.data[size] != '?')
        size++;
    return slice_from(rest.data, size);
}

/* Returns whether the host is an address and needs no lookup: it is in brackets, or its last label begins
 * with a digit. */
static bool is_address(struct slice authority)
{
    struct slice host, port;
    if (authority.size && authority.data[0] == '[')
        return true;
    slice_cut(authority, ':', &host, &port);
    size_t start = host.size;
    while (start > 0 && host.data[start - 1] != '.')
        start--;
    return start < host.size && host.data[start] >= '0' && host.data[start] <= '9';
}

static struct name *name_of(struct name_lookups *lookups, struct slice authority)
{
    return &lookups->names[hash_of(authority) % NAME_SLOTS];
}

bool name_lookups_may_begin(struct name_lookups *lookups, struct slice url, int64_t now_us)
{
    while (lookups->count && now_us - lookups->abandoned_us[lookups->first] >= ABANDONED_US) {
        lookups->first = (lookups->first + 1) % NAME_LOOKUPS_MAX;
        lookups->count--;
    }
    if (lookups->count < NAME_LOOKUPS_MAX)
        return true;
    struct slice authority = authority_of(url);
    int64_t found_us = name_of(lookups, authority)->found_us;
    return is_address(authority) || (found_us && now_us - found_us < FOUND_US);
}

void name_lookups_found(struct name_lookups *lookups, struct slice url, int64_t now_us)
{
    struct name *name = name_of(lookups, authority_of(url));
    name->has_failed = false;
    if (now_us - name->found_us >= FOUND_US || name->found_us == 0)
        name->found_us = now_us; /* otherwise the name is still in the cache; its time is kept */
}

void name_lookups_failed(struct name_lookups *lookups, struct slice url)
{
    struct slice authority = authority_of(url);
    if (!is_address(authority))
        name_of(lookups, authority)->has_failed = true;
}

bool name_lookups_must_renew(struct name_lookups *lookups, struct slice url, int64_t now_us,
                             char entry[NAME_ENTRY_MAX])
{
    struct slice authority = authority_of(url), user, host, port;
    struct name *name = name_of(lookups, authority);
    if (!name->has_failed || (name->renewed_us && now_us - name->renewed_us < RENEWAL_US) ||
        lookups->count == NAME_LOOKUPS_MAX)
        return false;
    *name = (struct name){.renewed_us = now_us};
    if (slice_cut(authority, '@', &user, &host)) /* only the url of a proxy has a user */
        authority = host;
    if (!slice_cut(authority, ':', &host, &port))
        port = url.size > 4 && (url.data[4] | 0x20) == 's' ? SLICE("443") : SLICE("80");
    int size = snprintf(entry, NAME_ENTRY_MAX, "-%.*s:%.*s", SLICE_ARG(host), SLICE_ARG(port));
    return size < NAME_ENTRY_MAX;
}

void name_lookups_abandoned(struct name_lookups *lookups, int64_t now_us)
{
    /* The ring can be full here: lookups that had begun before the limit was reached may be abandoned, too.
     * The new time then replaces the oldest. */
    if (lookups->count == NAME_LOOKUPS_MAX) {
        lookups->first = (lookups->first + 1) % NAME_LOOKUPS_MAX;
        lookups->count--;
    }
    lookups->abandoned_us[(lookups->first + lookups->count++) % NAME_LOOKUPS_MAX] = now_us;
}
