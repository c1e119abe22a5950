/* web.h - the dashboard and the API's documentation, as a dialect (a table of routes, see http/dialect.h): /,
 * /docs, /openapi.yaml and /web/<hash>/...
 *
 * The files of this folder and the libraries that they use are compressed at build and are a part of the
 * program, see embed.cmake. The URL path of these files has a hash of all of them, so browsers keep them
 * until the program changes. The files are public, and no token is needed for them: the page gets all data
 * from the API, which checks tokens. */
#ifndef DUEPOST_WEB_WEB_H
#define DUEPOST_WEB_WEB_H

#include "http/dialect.h"

/* The dialect for site_add. Its self is NULL. */
extern const struct dialect web_dialect;

#endif
