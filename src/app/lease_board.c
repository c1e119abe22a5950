#include "app/lease_board.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/list.h"
#include "base/memory.h"

enum { BUCKETS = 256 };

/* A topic for which at least one worker waits. The topic's name follows the struct. */
struct lease_row {
    struct list link;
    size_t waiting;
    struct slice topic;
};

struct lease_board {
    pthread_mutex_t lock;
    struct list buckets[BUCKETS];
};

struct lease_board *lease_board_new(void)
{
    struct lease_board *board = NEW(struct lease_board);
    pthread_mutex_init(&board->lock, NULL);
    for (size_t i = 0; i < BUCKETS; i++)
        list_init(&board->buckets[i]);
    return board;
}

void lease_board_free(struct lease_board *board)
{
    struct list *link;
    if (!board)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        while ((link = list_take(&board->buckets[i])))
            free(LIST_ENTRY(link, struct lease_row, link));
    pthread_mutex_destroy(&board->lock);
    free(board);
}

static struct lease_row *row_find(struct lease_board *board, struct slice topic)
{
    struct list *bucket = &board->buckets[hash_of(topic) % BUCKETS];
    for (struct list *link = bucket->next; link != bucket; link = link->next) {
        struct lease_row *row = LIST_ENTRY(link, struct lease_row, link);
        if (slice_equal(row->topic, topic))
            return row;
    }
    return NULL;
}

static struct lease_row *row_new(struct lease_board *board, struct slice topic)
{
    struct lease_row *row = memory_new(sizeof *row + topic.size);
    char *copy = (char *)(row + 1);
    memcpy(copy, topic.data, topic.size);
    row->topic = slice_from(copy, topic.size);
    list_append(&board->buckets[hash_of(topic) % BUCKETS], &row->link);
    return row;
}

void lease_board_add(struct lease_board *board, struct slice topic, int change)
{
    pthread_mutex_lock(&board->lock);
    struct lease_row *row = row_find(board, topic);
    if (!row)
        row = row_new(board, topic);
    row->waiting += (size_t)change;
    if (row->waiting == 0) {
        list_remove(&row->link);
        free(row);
    }
    pthread_mutex_unlock(&board->lock);
}

size_t lease_board_waiting(struct lease_board *board, struct slice topic)
{
    pthread_mutex_lock(&board->lock);
    const struct lease_row *row = row_find(board, topic);
    size_t waiting = row ? row->waiting : 0;
    pthread_mutex_unlock(&board->lock);
    return waiting;
}
