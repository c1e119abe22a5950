#include "job/token.h"

#include <stdio.h>

#include "fuzz.h"

/* Input: a line of the file of tokens. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t random[TOKEN_RANDOM_BYTES] = {1, 2, 3};
    struct slice line = input_of(data, size);
    struct token token, again;
    struct problem problem;
    struct buffer text;
    char made[TOKEN_TEXT_SIZE], scopes[TOKEN_SCOPES_SIZE], fields[TOKEN_SCOPES_SIZE + sizeof "scopes="];
    if (size == 0 || token_parse(line, &token, &problem) != STATUS_OK)
        return 0;
    assert(strlen(token.name) > 0 && strlen(token.name) <= TOKEN_NAME_MAX && token.scopes);
    token_scopes_text(token.scopes, scopes);
    snprintf(fields, sizeof fields, "scopes=%s", scopes);
    token_make(random, made);
    buffer_init(&text, 1024);
    token_write(&text, slice_of(token.name), slice_from(made, sizeof made), slice_of(fields));
    enum status status = token_parse(buffer_slice(&text), &again, &problem);
    assert(status == STATUS_OK && again.scopes == token.scopes && strcmp(again.name, token.name) == 0);
    token_fini(&again);
    token_fini(&token);
    buffer_fini(&text);
    return 0;
}
