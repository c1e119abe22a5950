#include "io/http_handles.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"

enum { HANDLES_MAX = 1024 };

struct http_handles {
    CURL *handles[HANDLES_MAX]; /* in the order of their last use, the latest at the end */
    size_t count;
};

CURL *http_handles_take(struct http_handles *handles)
{
    CURL *handle = handles->count ? handles->handles[--handles->count] : curl_easy_init();
    assert(handle);
    return handle;
}

void http_handles_give(struct http_handles *handles, CURL *handle)
{
    if (handles->count < HANDLES_MAX)
        handles->handles[handles->count++] = handle;
    else
        curl_easy_cleanup(handle);
}

struct http_handles *http_handles_new(void)
{
    return NEW(struct http_handles);
}

void http_handles_free(struct http_handles *handles)
{
    if (!handles)
        return;
    for (size_t i = 0; i < handles->count; i++)
        curl_easy_cleanup(handles->handles[i]);
    free(handles);
}
