#include "support/script_runner.h"

#include <check.h>
#include <stdlib.h>

#include "support/keyspace.h"
#include "support/redis_server.h"

enum { WORDS_MAX = 2048, FIRST_WORDS = 5 };

void scripts_load(redisContext *redis)
{
    redisReply *name = redis_command(redis, "FUNCTION LOAD REPLACE %s", script_library.text);
    ck_assert_str_eq(name->str, script_library.name);
    freeReplyObject(name);
}

int scripts_limit = RUNNER_LIMIT;

static const struct script_text *script_named(const char *name)
{
    for (size_t i = 0; i < SCRIPT_COUNT; i++)
        if (strcmp(script_texts[i].name, name) == 0)
            return &script_texts[i];
    ck_abort_msg("no script %s", name);
}

redisReply *script_run(redisContext *redis, size_t count, const char *const *words)
{
    const struct script_text *script = script_named(words[0]);
    const char *argv[WORDS_MAX] = {"FCALL", script->function, "1", KEYSPACE_PREFIX "jobs"};
    char limit[16];
    snprintf(limit, sizeof limit, "%d", scripts_limit);
    argv[FIRST_WORDS - 1] = limit;
    ck_assert_uint_lt(count + FIRST_WORDS, WORDS_MAX);
    for (size_t i = 1; i < count; i++)
        argv[FIRST_WORDS + i - 1] = words[i];
    redisReply *reply = redisCommandArgv(redis, (int)(FIRST_WORDS + count - 1), argv, NULL);
    ck_assert_msg(reply != NULL, "%s: %s", words[0], redis->errstr);
    return reply;
}

/* Returns the word. If it is in quotes, removes the quotes, and replaces commas by spaces. */
static const char *unquote(char *word)
{
    size_t size = strlen(word);
    if (size < 2 || word[0] != '\'' || word[size - 1] != '\'')
        return word;
    word[size - 1] = '\0';
    for (char *comma = word; (comma = strchr(comma, ','));)
        *comma = ' ';
    return word + 1;
}

/* Returns the word with blanks in place of semicolons, which stand for them in the heads of records. */
static char *with_blanks(char *word)
{
    for (char *at = strstr(word, "\"head\"") ? word : NULL; at && (at = strchr(at, ';'));)
        *at = ' ';
    return word;
}

redisReply *script_run_text(redisContext *redis, const char *text, int64_t now_ms)
{
    const char *words[WORDS_MAX];
    size_t count = 0;
    struct buffer numbers;
    buffer_init(&numbers, 64 * 1024);
    times_to_numbers(&numbers, text, now_ms);
    buffer_append_byte(&numbers, '\0');
    char *state = NULL;
    for (char *word = strtok_r(numbers.data, " ", &state); word; word = strtok_r(NULL, " ", &state))
        words[count++] = unquote(with_blanks(word));
    redisReply *reply = script_run(redis, count, words);
    buffer_fini(&numbers);
    return reply;
}

static void append(struct buffer *text, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER) {
        buffer_append_number(text, reply->integer);
    } else if (reply->type == REDIS_REPLY_NIL) {
        buffer_append(text, SLICE("nil"));
    } else if (reply->type == REDIS_REPLY_ARRAY) {
        buffer_append_byte(text, '(');
        for (size_t i = 0; i < reply->elements; i++) {
            if (i > 0)
                buffer_append_byte(text, ' ');
            append(text, reply->element[i]);
        }
        buffer_append_byte(text, ')');
    } else {
        buffer_append(text, reply->len ? slice_from(reply->str, reply->len) : SLICE("''"));
    }
}

void script_answer_text(struct buffer *text, const redisReply *reply, int64_t now_us)
{
    struct buffer numbers;
    if (reply->type == REDIS_REPLY_ERROR) {
        buffer_append(text, slice_from(reply->str, strcspn(reply->str, " ")));
        return;
    }
    ck_assert_int_eq(reply->type, REDIS_REPLY_ARRAY);
    ck_assert_int_eq(reply->element[0]->integer, now_us);
    buffer_init(&numbers, 1024 * 1024);
    for (size_t i = 1; i < reply->elements; i++) {
        if (i > 1)
            buffer_append_byte(&numbers, ' ');
        append(&numbers, reply->element[i]);
    }
    for (char *head = strstr((char *)(uintptr_t)buffer_text(&numbers), "\"head\":\""); head;
         head = strstr(head, "\"head\":\""))
        for (head += strlen("\"head\":\""); *head && *head != '"'; head++)
            *head = *head == ' ' ? ';' : *head;
    numbers_to_times(text, buffer_text(&numbers), now_us / 1000);
    buffer_fini(&numbers);
}
