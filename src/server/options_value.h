/* options_value.h - parses the text of an option into its member of struct options. */
#ifndef DUEPOST_SERVER_OPTIONS_VALUE_H
#define DUEPOST_SERVER_OPTIONS_VALUE_H

#include "server/options_table.h"

/* Parses a value. Returns STATUS_INVALID after an error; problem then describes the error without the place
 * of the option. */
enum status option_set(struct options *, enum option_id, enum option_source, struct slice text,
                       struct problem *) MUST_USE;

#endif
