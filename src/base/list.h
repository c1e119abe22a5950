/* list.h - an intrusive, circular, doubly linked list.
 *
 * A link is embedded in each element. An unlinked link points to itself, so list_remove may be called
 * twice. */
#ifndef DUEPOST_BASE_LIST_H
#define DUEPOST_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next;
    struct list *previous;
};

#define LIST_ENTRY(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void list_init(struct list *list)
{
    list->next = list;
    list->previous = list;
}

static inline bool list_is_empty(const struct list *list)
{
    return list->next == list;
}

static inline void list_append(struct list *list, struct list *link)
{
    link->previous = list->previous;
    link->next = list;
    list->previous->next = link;
    list->previous = link;
}

static inline void list_remove(struct list *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    list_init(link);
}

/* Unlinks and returns the first element. The list must not be empty. */
static inline struct list *list_pop(struct list *list)
{
    struct list *first = list->next;
    list_remove(first); /* NOLINT(clang-analyzer-unix.Malloc): freed elements are not linked any more */
    return first;
}

/* Unlinks and returns the first element, or returns NULL if the list is empty. */
static inline struct list *list_take(struct list *list)
{
    return list_is_empty(list) ? NULL : list_pop(list);
}

/* Moves all elements from the list "from" to the list "to". The list "to" must not have elements, and need
 * not be initialised. */
static inline void list_move(struct list *from, struct list *to)
{
    list_init(to);
    if (list_is_empty(from))
        return;
    *to = *from;
    to->next->previous = to;
    to->previous->next = to;
    list_init(from);
}

#endif
