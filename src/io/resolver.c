#include "io/resolver.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "base/slice.h"

/* A lookup. Its thread owns it until the result is posted; then the loop owns it. */
struct resolver {
    pthread_mutex_t lock; /* guards loop, which is NULL after the lookup was cancelled */
    struct loop *loop;
    resolver_fn *fn;
    void *arg;
    char *host;
    struct resolved resolved;
};

static void resolver_free(struct resolver *resolver)
{
    pthread_mutex_destroy(&resolver->lock);
    free(resolver->host);
    free(resolver);
}

static void on_resolved(void *arg)
{
    struct resolver *resolver = arg;
    pthread_mutex_lock(
        &resolver->lock); /* wait until the thread that has posted the result releases the lock */
    bool is_cancelled = !resolver->loop;
    pthread_mutex_unlock(&resolver->lock);
    if (!is_cancelled)
        resolver->fn(resolver->arg, &resolver->resolved);
    resolver_free(resolver);
}

static void look_up(const char *host, struct resolved *resolved)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int error = getaddrinfo(host, NULL, &hints, &found);
    for (struct addrinfo *one = found; one && resolved->count < RESOLVED_MAX; one = one->ai_next) {
        error = getnameinfo(one->ai_addr, one->ai_addrlen, resolved->addresses[resolved->count],
                            sizeof resolved->addresses[0], NULL, 0, NI_NUMERICHOST);
        resolved->count += error == 0;
    }
    if (resolved->count == 0)
        resolved->why = gai_strerror(error);
    if (found)
        freeaddrinfo(found);
}

static void *resolver_run(void *arg)
{
    struct resolver *resolver = arg;
    look_up(resolver->host, &resolver->resolved);
    pthread_mutex_lock(&resolver->lock);
    bool cancelled = !resolver->loop;
    if (!cancelled)
        loop_post(resolver->loop, on_resolved, resolver);
    pthread_mutex_unlock(&resolver->lock);
    if (cancelled)
        resolver_free(resolver);
    return NULL;
}

struct resolver *resolver_start(struct loop *loop, const char *host, resolver_fn *fn, void *arg)
{
    struct resolver *resolver = NEW(struct resolver);
    pthread_mutex_init(&resolver->lock, NULL);
    resolver->loop = loop;
    resolver->fn = fn;
    resolver->arg = arg;
    resolver->host = slice_dup(slice_of(host));
    pthread_t thread;
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &detached, resolver_run, resolver) != 0) {
        resolver->resolved.why = "no thread could be started";
        loop_post(loop, on_resolved, resolver);
    }
    pthread_attr_destroy(&detached);
    return resolver;
}

void resolver_cancel(struct resolver *resolver)
{
    pthread_mutex_lock(&resolver->lock);
    resolver->loop = NULL;
    pthread_mutex_unlock(&resolver->lock);
}
