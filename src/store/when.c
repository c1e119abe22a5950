#include "store/when.h"

#include <stdio.h>

void when_format(struct store_when when, char text[WHEN_SIZE])
{
    snprintf(text, WHEN_SIZE, "%s%lld", when.is_absolute ? "@" : "", (long long)when.ms);
}
