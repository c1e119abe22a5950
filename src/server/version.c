#include "server/version.h"

#include "cli/remote.h"
#include "history/history.h"
#include "io/http_client.h"
#include "io/http_server.h"
#include "io/http_tls.h"
#include "io/loop.h"
#include "io/redis.h"
#include "job/delivery/signature.h"
#include "server/commit.h"

void version_print(FILE *out)
{
    static void (*const libraries[])(struct library *) = {
        http_server_library, http_tls_library, http_client_library, loop_library,    redis_library,
        signature_library,   remote_library,   sqlite_library,      postgres_library};
    fprintf(out, "duepost " DUEPOST_VERSION "\ncommit " DUEPOST_COMMIT "\n");
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        struct library library;
        libraries[i](&library);
        fprintf(out, "%s %s\n", library.name, library.version);
    }
}
