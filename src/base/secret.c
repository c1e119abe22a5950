#include "base/secret.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct secret {
    pthread_mutex_t lock; /* guards text */
    char *text;           /* NULL: empty */
};

struct secret *secret_new(struct slice text)
{
    struct secret *secret = NEW(struct secret);
    pthread_mutex_init(&secret->lock, NULL);
    secret->text = text.data ? slice_dup(text) : NULL;
    return secret;
}

void secret_free(struct secret *secret)
{
    if (!secret)
        return;
    secret_free_copy(secret->text);
    pthread_mutex_destroy(&secret->lock);
    free(secret);
}

void secret_replace(struct secret *secret, const char *text)
{
    char *fresh = text ? slice_dup(slice_of(text)) : NULL;
    pthread_mutex_lock(&secret->lock);
    char *old = secret->text;
    secret->text = fresh;
    pthread_mutex_unlock(&secret->lock);
    secret_free_copy(old);
}

char *secret_copy(struct secret *secret)
{
    if (!secret)
        return NULL;
    pthread_mutex_lock(&secret->lock);
    char *copy = secret->text ? slice_dup(slice_of(secret->text)) : NULL;
    pthread_mutex_unlock(&secret->lock);
    return copy;
}

void secret_free_copy(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}
