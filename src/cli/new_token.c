#include "cli/new_token.h"

#include <stdio.h>

#include "base/random.h"
#include "job/token.h"

enum { LINE_MAX_BYTES = 8192 };

/* Appends the arguments after the name as one line. */
static void add_fields(int count, char *const *words, struct buffer *fields)
{
    for (int i = 0; i < count; i++)
        buffer_printf(fields, "%s%s", i ? " " : "", words[i]);
}

static bool make_line(int count, char *const *words, struct slice text, struct buffer *line,
                      struct problem *problem)
{
    struct buffer fields;
    struct token token;
    buffer_init(&fields, LINE_MAX_BYTES);
    add_fields(count - 1, words + 1, &fields);
    token_write(line, slice_of(words[0]), text, buffer_slice(&fields));
    bool is_made = token_parse(buffer_slice(line), &token, problem) == STATUS_OK;
    if (is_made)
        token_fini(&token);
    buffer_fini(&fields);
    return is_made;
}

bool new_token_print(int count, char *const *words, struct problem *problem)
{
    uint8_t random[TOKEN_RANDOM_BYTES];
    char text[TOKEN_TEXT_SIZE];
    struct buffer line;
    if (count < 2 || strcmp(words[0], "new") != 0 || strpbrk(words[1], " \t")) {
        problem_set(problem, "expected: new NAME scopes=schedule,read,cancel,admin,lease "
                             "[topics=orders-*,mail] [groups=shops-*] "
                             "[rate=1000/s]");
        return false;
    }
    random_fill(random, sizeof random);
    token_make(random, text);
    buffer_init(&line, LINE_MAX_BYTES);
    bool is_made = make_line(count - 1, words + 1, slice_from(text, sizeof text), &line, problem);
    if (is_made)
        printf("%.*s\n%s\n", (int)sizeof text, text, buffer_text(&line));
    buffer_fini(&line);
    return is_made;
}
