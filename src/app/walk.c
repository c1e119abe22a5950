#include "app/walk.h"

#include <string.h>

void app_walk_keep(struct app_walk *walk, size_t shard, struct slice place)
{
    bool fits = place.size <= sizeof walk->room;
    if (fits && place.size)
        memmove(walk->room, place.data, place.size);
    walk->shard = fits ? shard : 0;
    walk->place = slice_from(walk->room, fits ? place.size : 0);
    walk->has_more = walk->shard > 0 || walk->place.size > 0;
}

void app_walk_begin(struct app_walk *walk)
{
    walk->pages++;
    walk->page(walk->arg);
}

void app_walk_on(struct app_walk *walk, bool wants_more)
{
    bool may_read = !walk->pages_max || walk->pages < walk->pages_max;
    if (wants_more && walk->has_more && may_read)
        app_walk_begin(walk);
    else
        walk->end(walk->arg);
}
