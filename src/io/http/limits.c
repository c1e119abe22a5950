#include "io/http/limits.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"

enum { BUCKETS_BITS = 12 };

/* An address from which connections are open. */
struct origin {
    struct origin *next; /* next address in the same bucket of the hash table */
    uint64_t address;
    size_t connections;
};

struct http_limits {
    struct http_limits_options options;
    pthread_mutex_t lock; /* guards the members below; taken when a connection begins and ends */
    struct http_limits_counts counts;
    uint64_t seed; /* random part of the hash, so that no client can choose the bucket of its address */
    struct origin *buckets[1 << BUCKETS_BITS];
    int64_t guests_full_us; /* time at which HTTP_GUESTS_PER_SECOND requests may come at once again */
    atomic_size_t body_bytes, guest_bytes;
};

struct http_limits *http_limits_new(const struct http_limits_options *options)
{
    struct http_limits *limits = NEW(struct http_limits);
    limits->options = *options;
    pthread_mutex_init(&limits->lock, NULL);
    random_fill(&limits->seed, sizeof limits->seed);
    return limits;
}

void http_limits_free(struct http_limits *limits)
{
    if (!limits)
        return;
    for (size_t i = 0; i < 1 << BUCKETS_BITS; i++) {
        for (struct origin *origin = limits->buckets[i], *next; origin; origin = next) {
            next = origin->next;
            free(origin);
        }
    }
    pthread_mutex_destroy(&limits->lock);
    free(limits);
}

/* ---- connections ---- */

uint64_t http_limits_address(const struct sockaddr *from)
{
    uint64_t prefix = 0;
    uint32_t tail = 0;
    if (from->sa_family == AF_INET) {
        memcpy(&tail, &((const struct sockaddr_in *)(const void *)from)->sin_addr, sizeof tail);
    } else if (from->sa_family == AF_INET6) {
        const unsigned char *bytes = ((const struct sockaddr_in6 *)(const void *)from)->sin6_addr.s6_addr;
        memcpy(&prefix, bytes, sizeof prefix);
        memcpy(&tail, bytes + 12, sizeof tail);
    }
    return prefix ? prefix : ntohl(tail);
}

static bool is_loopback(uint64_t address)
{
    return address == 1 /* ::1 */ || address >> 24 == 127;
}

static struct origin **limits_find_origin(struct http_limits *limits, uint64_t address)
{
    uint64_t hash = (address ^ limits->seed) * UINT64_C(0x9e3779b97f4a7c15);
    struct origin **link = &limits->buckets[hash >> (64 - BUCKETS_BITS)];
    while (*link && (*link)->address != address)
        link = &(*link)->next;
    return link;
}

/* Counts a connection. Returns false if the address has reached its limit. */
static bool count_in(struct http_limits *limits, uint64_t address)
{
    struct origin **link = limits_find_origin(limits, address);
    if (!*link) {
        *link = NEW(struct origin);
        (*link)->address = address;
    }
    if ((*link)->connections == limits->options.per_address)
        return false;
    (*link)->connections++;
    return true;
}

static void count_out(struct http_limits *limits, uint64_t address)
{
    struct origin **link = limits_find_origin(limits, address), *origin = *link;
    assert(origin); /* count_in created it */
    if (--origin->connections > 0)
        return;
    *link = origin->next;
    free(origin);
}

static enum http_room enter(struct http_limits *limits, struct http_share *share)
{
    if (limits->counts.connections >= limits->options.connections)
        return HTTP_ROOM_NONE;
    if (share->is_counted && !count_in(limits, share->address))
        return HTTP_ROOM_NONE_FOR_ADDRESS;
    limits->counts.connections++;
    share->is_taken = true;
    return HTTP_ROOM;
}

enum http_room http_limits_enter(struct http_limits *limits, const struct sockaddr *from,
                                 struct http_share *share)
{
    const struct http_limits_options *options = &limits->options;
    uint64_t address = http_limits_address(from);
    bool is_spared = options->spares_loopback && is_loopback(address);
    *share = (struct http_share){.is_counted = options->per_address > 0 && !is_spared, .address = address};
    pthread_mutex_lock(&limits->lock);
    enum http_room room = enter(limits, share);
    limits->counts.refused += room != HTTP_ROOM;
    pthread_mutex_unlock(&limits->lock);
    return room;
}

void http_limits_leave(struct http_limits *limits, struct http_share *share)
{
    if (!share->is_taken)
        return;
    pthread_mutex_lock(&limits->lock);
    limits->counts.connections--;
    if (share->is_counted)
        count_out(limits, share->address);
    pthread_mutex_unlock(&limits->lock);
    *share = (struct http_share){0};
}

bool http_limits_linger(struct http_limits *limits, struct http_share *share)
{
    pthread_mutex_lock(&limits->lock);
    bool has_room = limits->counts.lingering < limits->options.lingering;
    limits->counts.lingering += has_room;
    if (has_room && share->is_taken && share->is_counted) {
        count_out(limits, share->address);
        share->is_counted = false;
    }
    pthread_mutex_unlock(&limits->lock);
    return has_room;
}

void http_limits_end_linger(struct http_limits *limits)
{
    pthread_mutex_lock(&limits->lock);
    limits->counts.lingering--;
    pthread_mutex_unlock(&limits->lock);
}

struct http_limits_counts http_limits_count(struct http_limits *limits)
{
    pthread_mutex_lock(&limits->lock);
    struct http_limits_counts counts = limits->counts;
    pthread_mutex_unlock(&limits->lock);
    return counts;
}

/* ---- bodies ---- */

bool http_limits_take_guest(struct http_limits *limits, int64_t now_us)
{
    enum { SECOND_US = 1000000, STEP_US = SECOND_US / HTTP_GUESTS_PER_SECOND };
    pthread_mutex_lock(&limits->lock);
    int64_t full_us = limits->guests_full_us > now_us ? limits->guests_full_us : now_us;
    bool is_in_time = full_us + STEP_US <= now_us + SECOND_US;
    if (is_in_time)
        limits->guests_full_us = full_us + STEP_US;
    pthread_mutex_unlock(&limits->lock);
    return is_in_time;
}

static bool limits_take(atomic_size_t *taken, size_t bytes, size_t max)
{
    if (atomic_fetch_add_explicit(taken, bytes, memory_order_relaxed) + bytes <= max)
        return true;
    atomic_fetch_sub_explicit(taken, bytes, memory_order_relaxed);
    return false;
}

bool http_limits_take_bytes(struct http_limits *limits, size_t bytes, bool is_guest)
{
    size_t max = limits->options.body_bytes;
    if (is_guest && !limits_take(&limits->guest_bytes, bytes, max / HTTP_GUEST_PART))
        return false;
    if (limits_take(&limits->body_bytes, bytes, max))
        return true;
    if (is_guest)
        atomic_fetch_sub_explicit(&limits->guest_bytes, bytes, memory_order_relaxed);
    return false;
}

void http_limits_add_bytes(struct http_limits *limits, size_t bytes)
{
    atomic_fetch_add_explicit(&limits->body_bytes, bytes, memory_order_relaxed);
}

void http_limits_give_bytes(struct http_limits *limits, size_t bytes, bool is_guest)
{
    atomic_fetch_sub_explicit(&limits->body_bytes, bytes, memory_order_relaxed);
    if (is_guest)
        atomic_fetch_sub_explicit(&limits->guest_bytes, bytes, memory_order_relaxed);
}
