#include "base/memory.h"

#include <unistd.h>

static void *memory_check(void *memory)
{
    static const char words[] = "duepost: out of memory\n";
    if (!memory) {
        ssize_t ignored = write(STDERR_FILENO, words, sizeof words - 1);
        (void)ignored;
        abort();
    }
    return memory;
}

void *memory_new(size_t bytes)
{
    return memory_check(calloc(1, bytes ? bytes : 1));
}

void *memory_resize(void *old, size_t bytes)
{
    return memory_check(realloc(old, bytes ? bytes : 1));
}
