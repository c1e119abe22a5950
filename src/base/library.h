/* library.h - a library and the version that the program runs with. */
#ifndef DUEPOST_BASE_LIBRARY_H
#define DUEPOST_BASE_LIBRARY_H

#include <stdio.h>

enum { LIBRARY_VERSION_SIZE = 32 };

struct library {
    const char *name;
    char version[LIBRARY_VERSION_SIZE];
};

static inline void library_set(struct library *library, const char *name, const char *version)
{
    library->name = name;
    snprintf(library->version, sizeof library->version, "%s", version ? version : "unknown");
}

static inline void library_set_numbers(struct library *library, const char *name, int major, int minor)
{
    library->name = name;
    snprintf(library->version, sizeof library->version, "%d.%d", major, minor);
}

#endif
