#include "http/wrong_tokens.h"

#include <pthread.h>
#include <stddef.h>

#include "base/system.h"

#define STEP_NS INT64_C(1000000000)

enum { WAYS = 4 /* places in which an address may be, so that two addresses rarely share one */ };

struct place {
    uint64_t address;
    int64_t full_ns; /* when the address may send WRONG_TOKENS_AT_ONCE again; 0: the place is free */
    bool was_told;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static struct place places[WRONG_TOKENS_PLACES];
static uint64_t
    seed; /* random part of the hash, so that no client can choose the places of its address; 0: not set */
static int64_t told_ns;

static struct place *find_place(uint64_t address)
{
    if (seed == 0) {
        random_fill(&seed, sizeof seed);
        seed |= 1;
    }
    uint64_t hash = (address ^ seed) * UINT64_C(0x9e3779b97f4a7c15);
    struct place *set = &places[(hash >> 32) % (WRONG_TOKENS_PLACES / WAYS) * WAYS], *oldest = set;
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].full_ns && set[i].address == address)
            return &set[i];
        if (set[i].full_ns < oldest->full_ns)
            oldest = &set[i];
    }
    *oldest = (struct place){.address = address};
    return oldest;
}

bool wrong_tokens_count(uint64_t address, int64_t now_ns, int64_t *wait_ns, bool *is_first)
{
    pthread_mutex_lock(&lock);
    struct place *place = find_place(address);
    int64_t next_ns = (place->full_ns > now_ns ? place->full_ns : now_ns) + STEP_NS;
    *wait_ns = next_ns - now_ns - WRONG_TOKENS_AT_ONCE * STEP_NS;
    *is_first = false;
    bool is_within = *wait_ns <= 0;
    if (place->full_ns <= now_ns)
        place->was_told = false;
    if (is_within) {
        place->full_ns = next_ns;
    } else if (!place->was_told && now_ns - told_ns >= STEP_NS) {
        place->was_told = *is_first = true;
        told_ns = now_ns;
    }
    pthread_mutex_unlock(&lock);
    return is_within;
}
