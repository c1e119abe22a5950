/* store_setup.h - the options of the store, from the options of the server. */
#ifndef DUEPOST_SERVER_STORE_SETUP_H
#define DUEPOST_SERVER_STORE_SETUP_H

#include "server/options.h"
#include "store/store.h"

/* Returns the options of the store. They borrow redis and prefix, but nothing of the server's options, which
 * may be freed. With the private Redis, the durability is fsync, unless the operator chose another class.
 * The caller sets the member metrics. */
struct store_options store_setup(const struct options *, const struct redis_address *redis,
                                 const char *prefix);

#endif
