/* http_header.h - one header line of a head. */
#ifndef DUEPOST_IO_HTTP_HEADER_H
#define DUEPOST_IO_HTTP_HEADER_H

#include "base/slice.h"

struct http_header {
    struct slice name, value;
};

#endif
