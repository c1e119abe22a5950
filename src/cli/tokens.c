/* tokens.c - the commands token and sign-test, which need no server: they make a token, and sign a sample. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "base/encoding.h"
#include "base/status.h"
#include "base/system.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/remote.h"
#include "job/delivery/signature.h"
#include "job/token.h"

/* ---- token ---- */

enum { LINE_MAX_BYTES = 8192, TEXT_MAX_BYTES = 256 };

#define FOR_QSTASH "--for-qstash"

bool token_run(struct call *call)
{
    char *const *words = call->words;
    struct buffer text, fields, line;
    struct token token;
    bool is_for_qstash = false;
    if (call->word_count < 2 || strcmp(words[0], "new") != 0 || strpbrk(words[1], " \t")) {
        problem_set(&call->problem, "expected: new NAME scopes=schedule,read,cancel,admin,lease "
                                    "[topics=orders-*,mail] [groups=shops-*] "
                                    "[rate=1000/s] [" FOR_QSTASH "]");
        return false;
    }
    buffer_init(&text, TEXT_MAX_BYTES);
    buffer_init(&fields, LINE_MAX_BYTES);
    buffer_init(&line, LINE_MAX_BYTES);
    for (int i = 2; i < call->word_count; i++) {
        if (strcmp(words[i], FOR_QSTASH) == 0)
            is_for_qstash = true;
        else
            buffer_printf(&fields, "%s%s", fields.size ? " " : "", words[i]);
    }
    /* createWebhook of QStash's client for workflows accepts only tokens that are an object in base64, and
     * writes the UserID into the address of the webhook. */
    uint8_t random[TOKEN_RANDOM_BYTES];
    char made[TOKEN_TEXT_SIZE], object[TEXT_MAX_BYTES];
    random_fill(random, sizeof random);
    token_make(random, made);
    if (is_for_qstash) {
        int size = snprintf(object, sizeof object, "{\"UserID\":\"duepost\",\"Password\":\"%.*s\"}",
                            TOKEN_TEXT_SIZE, made);
        base64_append(&text, slice_from(object, (size_t)size));
    } else {
        buffer_append(&text, slice_from(made, sizeof made));
    }
    token_write(&line, slice_of(words[1]), buffer_slice(&text), buffer_slice(&fields));
    bool is_made = token_parse(buffer_slice(&line), &token, &call->problem) == STATUS_OK;
    if (is_made) {
        token_fini(&token);
        printf("%s\n%s\n", buffer_text(&text), buffer_text(&line));
    }
    buffer_fini(&text);
    buffer_fini(&fields);
    buffer_fini(&line);
    return is_made;
}

/* ---- sign-test ---- */

enum { FILE_MAX = 64 * 1024, ANSWER_MAX = 64 * 1024, HEADER_MAX = SIGNATURE_MAX + 64, HEADERS = 4 };

static const char sample[] = "{\"type\":\"duepost.sample\",\"data\":{\"price\":1.10}}";

struct signed_sample {
    char id[WEBHOOK_ID_SIZE];
    int64_t seconds;
    char lines[HEADERS][HEADER_MAX];
};

enum status signing_file_read(const char *path, struct signing_keys *keys, struct problem *problem)
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

bool sign_run(struct call *call)
{
    struct signing_keys keys;
    struct signed_sample made;
    if (call->word_count != 2) {
        problem_set(&call->problem, "expected: URL FILE, where FILE is the file of --signing-secret-file");
        return false;
    }
    if (signing_file_read(call->words[1], &keys, &call->problem) != STATUS_OK)
        return false;
    struct buffer signature;
    buffer_init(&signature, SIGNATURE_MAX);
    made.seconds = (int64_t)time(NULL);
    webhook_id_make(SLICE("duepost/sample"), made.seconds * 1000, made.id);
    signature_write(&keys, slice_of(made.id), made.seconds, slice_of(sample), &signature);
    snprintf(made.lines[0], HEADER_MAX, "Content-Type: application/json");
    snprintf(made.lines[1], HEADER_MAX, "webhook-id: %s", made.id);
    snprintf(made.lines[2], HEADER_MAX, "webhook-timestamp: %lld", (long long)made.seconds);
    snprintf(made.lines[3], HEADER_MAX, "webhook-signature: %s", buffer_text(&signature));
    buffer_fini(&signature);
    explicit_bzero(&keys, sizeof keys);
    printf("signed   %s.%lld.%s\n", made.id, (long long)made.seconds, sample);
    for (size_t i = 0; i < HEADERS; i++)
        printf("header   %s\n", made.lines[i]);
    const struct remote_options options = {.authorization = ""};
    const char *const lines[HEADERS] = {made.lines[0], made.lines[1], made.lines[2], made.lines[3]};
    struct remote *remote = remote_new(&options);
    struct buffer answer, shown;
    long status = 0;
    buffer_init(&answer, ANSWER_MAX);
    buffer_init(&shown, ANSWER_MAX);
    bool is_posted = remote_post(remote, call->words[0], lines, HEADERS, sample, &answer, &status,
                                 &call->problem) == STATUS_OK;
    table_append_shown(&shown, buffer_slice(&answer));
    if (is_posted)
        printf("answer   %ld %.*s\n", status, SLICE_ARG(buffer_slice(&shown)));
    call->has_sent = remote_has_sent(remote);
    if (is_posted && status / 100 != 2)
        problem_set(&call->problem, "the receiver did not answer 2xx");
    buffer_fini(&answer);
    buffer_fini(&shown);
    remote_free(remote);
    return is_posted && status / 100 == 2;
}
