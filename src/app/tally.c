#include "app/tally.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"

enum {
    FRESH_US = 1000 * 1000, /* from the beginning of one count to that of the next */
    LOOK_US = 10 * 1000,    /* from look to look while another reactor counts */
};

struct tally_board {
    pthread_mutex_t lock;
    bool is_counting; /* some reactor is */
    bool has_count;
    int64_t began_us; /* the last count, or the one under way */
    enum status status;
    struct store_counts counts;
};

struct waiter {
    struct list link;
    store_audit_fn *fn;
    void *arg;
};

struct tally {
    struct tally_board *board;
    struct store *store;
    struct list waiters;
    struct timer *timer;
};

struct tally_board *tally_board_new(void)
{
    struct tally_board *board = NEW(struct tally_board);
    pthread_mutex_init(&board->lock, NULL);
    return board;
}

void tally_board_free(struct tally_board *board)
{
    if (!board)
        return;
    pthread_mutex_destroy(&board->lock);
    free(board);
}

/* ---- the board ---- */

enum look { LOOK_FRESH, LOOK_WAIT, LOOK_COUNT };

/* FRESH: status and counts are set. COUNT: the caller has to count, and board_note the result. */
static enum look board_look(struct tally_board *board, enum status *status, struct store_counts *counts)
{
    enum look look = LOOK_WAIT;
    int64_t now_us = clock_boot_us();
    pthread_mutex_lock(&board->lock);
    if (!board->is_counting && board->has_count && now_us - board->began_us < FRESH_US) {
        *status = board->status;
        *counts = board->counts;
        look = LOOK_FRESH;
    } else if (!board->is_counting) {
        board->is_counting = true;
        board->began_us = now_us;
        look = LOOK_COUNT;
    }
    pthread_mutex_unlock(&board->lock);
    return look;
}

static void board_note(struct tally_board *board, enum status status, const struct store_counts *counts)
{
    pthread_mutex_lock(&board->lock);
    board->is_counting = false;
    board->has_count = true;
    board->status = status;
    board->counts = *counts;
    pthread_mutex_unlock(&board->lock);
}

/* ---- one reactor ---- */

static void answer_all(struct tally *tally, enum status status, const struct store_counts *counts)
{
    struct list waiters, *link;
    list_move(&tally->waiters, &waiters);
    while ((link = list_take(&waiters))) {
        struct waiter *waiter = LIST_ENTRY(link, struct waiter, link);
        waiter->fn(waiter->arg, status, counts);
        free(waiter);
    }
}

static void on_counted(void *arg, enum status status, const struct store_counts *counts)
{
    struct tally *tally = arg;
    board_note(tally->board, status, counts);
    answer_all(tally, status, counts);
}

/* The timer is the only caller, so that no callback comes within tally_ask. */
static void on_look(void *arg)
{
    struct tally *tally = arg;
    struct store_counts counts = {.jobs = 0};
    enum status status = STATUS_UNAVAILABLE;
    if (list_is_empty(&tally->waiters))
        return;
    switch (board_look(tally->board, &status, &counts)) {
    case LOOK_FRESH:
        answer_all(tally, status, &counts);
        break;
    case LOOK_WAIT:
        timer_start(tally->timer, LOOK_US);
        break;
    case LOOK_COUNT:
        store_audit(tally->store, on_counted, tally);
        break;
    }
}

void tally_ask(struct tally *tally, struct store *store, store_audit_fn *fn, void *arg)
{
    struct waiter *waiter = NEW(struct waiter);
    tally->store = store;
    waiter->fn = fn;
    waiter->arg = arg;
    list_append(&tally->waiters, &waiter->link);
    if (!timer_is_running(tally->timer))
        timer_start(tally->timer, 0);
}

struct tally *tally_new(struct loop *loop, struct tally_board *board)
{
    struct tally *tally = NEW(struct tally);
    tally->board = board;
    list_init(&tally->waiters);
    tally->timer = timer_new(loop, on_look, tally);
    return tally;
}

void tally_free(struct tally *tally)
{
    struct list *link;
    if (!tally)
        return;
    while ((link = list_take(&tally->waiters)))
        free(LIST_ENTRY(link, struct waiter, link));
    timer_free(tally->timer);
    free(tally);
}
