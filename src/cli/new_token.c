#include "cli/new_token.h"

#include <stdio.h>

#include "base/base64.h"
#include "base/random.h"
#include "job/token.h"

enum { LINE_MAX_BYTES = 8192, TEXT_MAX_BYTES = 256 };

#define FOR_QSTASH "--for-qstash"

/* Appends the arguments after the name as one line, without the option. Returns whether the option is there.
 */
static bool add_fields(int count, char *const *words, struct buffer *fields)
{
    bool is_for_qstash = false;
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], FOR_QSTASH) == 0)
            is_for_qstash = true;
        else
            buffer_printf(fields, "%s%s", fields->size ? " " : "", words[i]);
    }
    return is_for_qstash;
}

/* Makes the text of the token. createWebhook of QStash's client for workflows accepts only tokens that are an
 * object in base64, and writes the UserID into the address of the webhook. */
static void make_text(bool is_for_qstash, struct buffer *text)
{
    uint8_t random[TOKEN_RANDOM_BYTES];
    char made[TOKEN_TEXT_SIZE], object[TEXT_MAX_BYTES];
    random_fill(random, sizeof random);
    token_make(random, made);
    if (is_for_qstash) {
        int size = snprintf(object, sizeof object, "{\"UserID\":\"duepost\",\"Password\":\"%.*s\"}",
                            TOKEN_TEXT_SIZE, made);
        base64_append(text, slice_from(object, (size_t)size));
    } else {
        buffer_append(text, slice_from(made, sizeof made));
    }
}

static bool make_line(int count, char *const *words, struct buffer *text, struct buffer *line,
                      struct problem *problem)
{
    struct buffer fields;
    struct token token;
    buffer_init(&fields, LINE_MAX_BYTES);
    make_text(add_fields(count - 1, words + 1, &fields), text);
    token_write(line, slice_of(words[0]), buffer_slice(text), buffer_slice(&fields));
    bool is_made = token_parse(buffer_slice(line), &token, problem) == STATUS_OK;
    if (is_made)
        token_fini(&token);
    buffer_fini(&fields);
    return is_made;
}

bool new_token_print(int count, char *const *words, struct problem *problem)
{
    struct buffer text, line;
    if (count < 2 || strcmp(words[0], "new") != 0 || strpbrk(words[1], " \t")) {
        problem_set(problem, "expected: new NAME scopes=schedule,read,cancel,admin,lease "
                             "[topics=orders-*,mail] [groups=shops-*] "
                             "[rate=1000/s] [" FOR_QSTASH "]");
        return false;
    }
    buffer_init(&text, TEXT_MAX_BYTES);
    buffer_init(&line, LINE_MAX_BYTES);
    bool is_made = make_line(count - 1, words + 1, &text, &line, problem);
    if (is_made)
        printf("%s\n%s\n", buffer_text(&text), buffer_text(&line));
    buffer_fini(&text);
    buffer_fini(&line);
    return is_made;
}
