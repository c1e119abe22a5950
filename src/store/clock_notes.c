/* clock_notes.c - the manual clock in this process: its time, the work that it waits for, and what fired. */
#include <pthread.h>
#include <stdatomic.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/system.h"
#include "store/clock.h"

/* ---- the time in this process ---- */

static struct {
    bool is_manual;
    _Atomic int64_t us;
} turned;

void clock_make_manual(void)
{
    turned.is_manual = true;
}

bool clock_is_manual(void)
{
    return turned.is_manual;
}

void clock_turn_to(int64_t us)
{
    int64_t now_us = turned.us;
    while (us > now_us && !atomic_compare_exchange_weak(&turned.us, &now_us, us))
        ;
}

int64_t clock_turned_us(void)
{
    return turned.us;
}

int64_t clock_wait_us(void)
{
    return turned.is_manual ? turned.us : clock_boot_us();
}

/* ---- work under way ---- */

static _Atomic int work_under_way;

void clock_note_work(int change)
{
    if (clock_is_manual())
        work_under_way += change;
}

bool clock_has_work(void)
{
    return work_under_way > 0;
}

/* ---- what fired ---- */

struct fired {
    struct list link;
    struct clock_fired entry;
    char *job, *schedule; /* owned: the texts of these members of entry */
};

static struct {
    pthread_mutex_t mutex;
    struct list entries;
    size_t count;
    uint64_t lost;
} fired = {.mutex = PTHREAD_MUTEX_INITIALIZER, .entries = {&fired.entries, &fired.entries}};

static void fired_free(struct fired *one)
{
    free(one->job);
    free(one->schedule);
    free(one);
}

void clock_note_fired(const struct clock_fired *entry)
{
    if (!clock_is_manual())
        return;
    struct fired *one = NEW(struct fired);
    *one =
        (struct fired){.entry = *entry, .job = slice_dup(entry->job), .schedule = slice_dup(entry->schedule)};
    one->entry.job.data = one->job;
    one->entry.schedule.data = one->schedule;
    pthread_mutex_lock(&fired.mutex);
    bool has_room = fired.count < CLOCK_FIRED_MAX;
    if (has_room) {
        list_append(&fired.entries, &one->link);
        fired.count++;
    } else {
        fired.lost++;
    }
    pthread_mutex_unlock(&fired.mutex);
    if (!has_room)
        fired_free(one);
}

size_t clock_fired_count(void)
{
    pthread_mutex_lock(&fired.mutex);
    size_t count = fired.count;
    pthread_mutex_unlock(&fired.mutex);
    return count;
}

bool clock_take_fired(size_t max, clock_fired_fn *fn, void *arg, uint64_t *lost)
{
    struct list taken;
    list_init(&taken);
    pthread_mutex_lock(&fired.mutex);
    for (size_t i = 0; i < max && fired.count > 0; i++) {
        list_append(&taken, list_take(&fired.entries));
        fired.count--;
    }
    bool is_left = fired.count > 0;
    *lost = fired.lost;
    fired.lost = 0;
    pthread_mutex_unlock(&fired.mutex);
    for (struct list *link; (link = list_take(&taken));) {
        struct fired *one = LIST_ENTRY(link, struct fired, link);
        fn(arg, &one->entry);
        fired_free(one);
    }
    return is_left;
}
