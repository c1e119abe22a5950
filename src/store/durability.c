#include "store/durability.h"

static const char *const words[] = {
    [DURABILITY_UNKNOWN] = "unknown", [DURABILITY_MEMORY] = "memory", [DURABILITY_FSYNC] = "fsync"};

const char *durability_word(enum durability durability)
{
    return words[durability];
}

bool durability_parse(struct slice text, enum durability *durability)
{
    for (int i = DURABILITY_MEMORY; i <= DURABILITY_FSYNC; i++) {
        if (slice_equal(text, slice_of(words[i]))) {
            *durability = (enum durability)i;
            return true;
        }
    }
    return false;
}
