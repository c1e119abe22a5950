/* mongo_stream.h - the connections of libmongoc. Its calls block, and it has no function that ends a call; so
 * its connections are streams of our own. Each wait on them ends at the deadline of the driver's call, and at
 * once when the driver is stopping. */
#ifndef DUEPOST_HISTORY_MONGO_STREAM_H
#define DUEPOST_HISTORY_MONGO_STREAM_H

#include <mongoc/mongoc.h>

#include "history/driver.h"

/* Makes the client connect by these streams, with TLS if its url says so. Borrows the driver. */
void mongo_stream_use(mongoc_client_t *, struct driver *);

#endif
