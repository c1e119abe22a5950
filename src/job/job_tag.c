#include "job/job_tag.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdio.h>

#include "base/hex.h"

enum { DIGEST_BYTES = 20, HEAD_MAX = 64 };

/* SHA-1 is enough to detect changes. A client could construct two records with the same tag, but only among
 * its own records. */
void job_tag_make(struct slice state, int64_t place_ms, struct slice record, char tag[JOB_TAG_SIZE])
{
    unsigned char digest[DIGEST_BYTES];
    char head[HEAD_MAX];
    int size = snprintf(head, sizeof head, "%.*s %lld ", SLICE_ARG(state), (long long)place_ms);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    assert(context && size > 0 && size < HEAD_MAX);
    int ok = EVP_DigestInit_ex(context, EVP_sha1(), NULL) && EVP_DigestUpdate(context, head, (size_t)size) &&
             EVP_DigestUpdate(context, record.data, record.size) && EVP_DigestFinal_ex(context, digest, NULL);
    assert(ok);
    EVP_MD_CTX_free(context);
    hex_write(tag, digest, DIGEST_BYTES);
    tag[JOB_TAG_SIZE - 1] = '\0';
}

void job_tag_of(const struct stored_job *job, char tag[JOB_TAG_SIZE])
{
    job_tag_make(slice_of(job_state_word(job->state)), job->state == JOB_STATE_LEASED ? 0 : job->at_ms,
                 job->record, tag);
}

bool job_tags_match(struct slice tags, const char tag[JOB_TAG_SIZE])
{
    bool is_excluded = tags.size && tags.data[0] == JOB_TAGS_EXCLUDED;
    if (is_excluded)
        tags = slice_skip(tags, 1);
    if (tags.size == 0 || slice_equal(tags, SLICE("*")))
        return !is_excluded;
    return (memmem(tags.data, tags.size, tag, JOB_TAG_SIZE - 1) != NULL) != is_excluded;
}
