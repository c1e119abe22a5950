#include "cli/sign_test.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "cli/remote.h"
#include "cli/table.h"
#include "job/delivery/signature.h"

enum { FILE_MAX = 64 * 1024, ANSWER_MAX = 64 * 1024, HEADER_MAX = SIGNATURE_MAX + 64, HEADERS = 4 };

static const char sample[] = "{\"type\":\"duepost.sample\",\"data\":{\"price\":1.10}}";

struct signed_sample {
    char id[WEBHOOK_ID_SIZE];
    int64_t seconds;
    char lines[HEADERS][HEADER_MAX];
};

static enum status read_keys(const char *path, struct signing_keys *keys, struct problem *problem)
{
    char text[FILE_MAX];
    struct problem why;
    FILE *file = fopen(path, "re");
    if (!file) {
        problem_set(problem, "cannot read %s: %s", path, strerror(errno));
        return STATUS_INVALID;
    }
    size_t size = fread(text, 1, sizeof text, file);
    enum status status = STATUS_INVALID;
    if (ferror(file))
        problem_set(problem, "cannot read %s: %s", path, strerror(errno));
    else if ((status = signing_keys_parse(slice_from(text, size), keys, &why)) != STATUS_OK)
        problem_set(problem, "%.200s, %.250s", path, why.text);
    fclose(file);
    explicit_bzero(text, sizeof text);
    return status;
}

static void sign_sample(const struct signing_keys *keys, struct signed_sample *made)
{
    struct buffer signature;
    buffer_init(&signature, SIGNATURE_MAX);
    made->seconds = (int64_t)time(NULL);
    webhook_id_make(SLICE("duepost/sample"), made->seconds * 1000, made->id);
    signature_write(keys, slice_of(made->id), made->seconds, slice_of(sample), &signature);
    snprintf(made->lines[0], HEADER_MAX, "Content-Type: application/json");
    snprintf(made->lines[1], HEADER_MAX, "webhook-id: %s", made->id);
    snprintf(made->lines[2], HEADER_MAX, "webhook-timestamp: %lld", (long long)made->seconds);
    snprintf(made->lines[3], HEADER_MAX, "webhook-signature: %s", buffer_text(&signature));
    buffer_fini(&signature);
}

static bool post(const char *url, const struct signed_sample *made, bool *has_sent, struct problem *problem)
{
    const struct remote_options options = {.authorization = ""};
    const char *const lines[HEADERS] = {made->lines[0], made->lines[1], made->lines[2], made->lines[3]};
    struct remote *remote = remote_new(&options);
    struct buffer answer, shown;
    long status = 0;
    buffer_init(&answer, ANSWER_MAX);
    buffer_init(&shown, ANSWER_MAX);
    bool is_posted = remote_post(remote, url, lines, HEADERS, sample, &answer, &status, problem) == STATUS_OK;
    table_append_shown(&shown, buffer_slice(&answer));
    if (is_posted)
        printf("answer   %ld %.*s\n", status, SLICE_ARG(buffer_slice(&shown)));
    *has_sent = remote_has_sent(remote);
    if (is_posted && status / 100 != 2)
        problem_set(problem, "the receiver did not answer 2xx");
    buffer_fini(&answer);
    buffer_fini(&shown);
    remote_free(remote);
    return is_posted && status / 100 == 2;
}

bool sign_test_run(int count, char *const *words, bool *has_sent, struct problem *problem)
{
    struct signing_keys keys;
    struct signed_sample made;
    if (count != 2) {
        problem_set(problem, "expected: URL FILE, where FILE is the file of --signing-secret-file");
        return false;
    }
    if (read_keys(words[1], &keys, problem) != STATUS_OK)
        return false;
    sign_sample(&keys, &made);
    explicit_bzero(&keys, sizeof keys);
    printf("signed   %s.%lld.%s\n", made.id, (long long)made.seconds, sample);
    for (size_t i = 0; i < HEADERS; i++)
        printf("header   %s\n", made.lines[i]);
    return post(words[0], &made, has_sent, problem);
}
