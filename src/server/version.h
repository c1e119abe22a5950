/* version.h - the version of the program, its commit, and the libraries that it runs with. */
#ifndef DUEPOST_SERVER_VERSION_H
#define DUEPOST_SERVER_VERSION_H

#include <stdio.h>

/* Prints "duepost VERSION", the commit and the libraries, one per line. */
void version_print(FILE *out);

#endif
