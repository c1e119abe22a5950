/* options_file.h - the configuration file as a source of options. */
#ifndef DUEPOST_SERVER_OPTIONS_FILE_H
#define DUEPOST_SERVER_OPTIONS_FILE_H

#include "server/options_source.h"

/* Reads the content of the file at path into the layer. Returns STATUS_INVALID after an error; problem then
 * names path and line. */
enum status options_read_file(struct option_layer *, const char *path, struct slice content,
                              struct problem *) MUST_USE;

#endif
