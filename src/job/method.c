#include "job/method.h"

#include <assert.h>

static const char *const words[JOB_METHODS] = {
    [JOB_METHOD_POST] = "POST",   [JOB_METHOD_GET] = "GET",       [JOB_METHOD_PUT] = "PUT",
    [JOB_METHOD_PATCH] = "PATCH", [JOB_METHOD_DELETE] = "DELETE", [JOB_METHOD_HEAD] = "HEAD",
};

const char *job_method_word(enum job_method method)
{
    assert(method < JOB_METHODS);
    return words[method];
}

bool job_method_parse(struct slice text, enum job_method *method)
{
    for (unsigned i = 0; i < JOB_METHODS; i++) {
        if (slice_equal(text, slice_of(words[i]))) {
            *method = (enum job_method)i;
            return true;
        }
    }
    return false;
}

bool job_method_allows_body(enum job_method method)
{
    return method != JOB_METHOD_GET && method != JOB_METHOD_HEAD;
}
