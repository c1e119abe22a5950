#include <stdio.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "store/store_private.h"

/* The commands that duepost needs, as in docs/operations.md; a test compares the two. Categories of commands
 * cannot replace the list: Redis classes INFO, ROLE and CONFIG GET as dangerous, and the categories of TIME
 * and WAIT contain commands that duepost does not need. */
#define COMMANDS                                                                                             \
    "+@read +@write +@scripting +@pubsub +@connection -@dangerous +time +wait +info +role +config|get "      \
    "+cluster|info +cluster|slots"

enum { NAMES_MAX = 96, KEY_MAX = 512 };

struct rights {
    struct redis_link *link;
    struct slice jobs_key;
    const struct store_options *options;
    loop_fn *on_known;
    void *arg;
    struct buffer never_key; /* a key that never exists */
    bool is_asking, is_known, is_subscription_denied;
    char names[NAMES_MAX];      /* denied rights, from the last complete round; empty: none */
    char next_names[NAMES_MAX]; /* denied rights of the current round */
    char refusal[RIGHTS_TEXT_MAX];
};

/* A query that Redis refuses if a right is missing, and the name of this right. */
struct question {
    struct rights *rights;
    const char *name;
};

bool rights_deny(struct slice error)
{
    return slice_starts_with(error, SLICE("NOPERM")) ||
           slice_starts_with(error, SLICE("ERR The user executing the script can't")) || /* Redis 7.0 */
           slice_starts_with(error, SLICE("ERR ACL failure in script"));                 /* Redis 8 */
}

static bool has_word(struct slice text, const char *word)
{
    return memmem(text.data, text.size, word, strlen(word)) != NULL;
}

static void add_name(struct rights *rights, const char *name)
{
    size_t size = strlen(rights->next_names);
    if (!has_word(slice_of(rights->next_names), name))
        snprintf(rights->next_names + size, NAMES_MAX - size, "%s%s", size ? ", " : "", name);
}

static void note(struct rights *rights, const char *command, struct slice error)
{
    char name[64];
    if (!rights_deny(error))
        return;
    if (has_word(error, "channel"))
        snprintf(name, sizeof name, "the channels");
    else if (has_word(error, " key"))
        snprintf(name, sizeof name, "the keys");
    else
        snprintf(name, sizeof name, "%s", command);
    add_name(rights, name);
}

static void on_answer(void *arg, const struct redis_reply *reply)
{
    struct question *question = arg;
    if (redis_reply_kind(reply) == REDIS_KIND_ERROR)
        note(question->rights, question->name, redis_reply_text(reply));
    free(question);
}

static void try_command(struct rights *rights, const char *name, size_t argc, const struct slice *argv)
{
    struct question *question = NEW(struct question);
    question->rights = rights;
    question->name = name;
    redis_send(rights->link, argc, argv, on_answer, question);
}

/* Reads the last answer of a round: the commands that scripts run, each followed by the error with which it
 * failed. */
static void on_tried(void *arg, enum status status, const struct redis_reply *reply)
{
    struct rights *rights = arg;
    rights->is_asking = false;
    if (!reply)
        return;
    if (status != STATUS_OK && slice_starts_with(redis_reply_text(reply), SLICE("ERR unknown command")))
        add_name(rights, "FCALL");
    else if (status != STATUS_OK)
        note(rights, "FCALL", redis_reply_text(reply));
    for (size_t i = 0; i + 1 < redis_reply_size(reply); i += 2) {
        char command[32];
        snprintf(command, sizeof command, "%.*s", SLICE_ARG(redis_reply_text(redis_reply_at(reply, i))));
        note(rights, command, redis_reply_text(redis_reply_at(reply, i + 1)));
    }
    memcpy(rights->names, rights->next_names, sizeof rights->names);
    rights->is_known = status == STATUS_OK;
    rights->on_known(rights->arg);
}

/* Tries each command with invalid arguments. Redis checks the rights first, so a command that is permitted
 * fails with another error and changes nothing. */
void rights_ask(struct rights *rights)
{
    struct slice never = buffer_slice(&rights->never_key);
    if (rights->is_asking)
        return;
    rights->is_asking = true;
    rights->next_names[0] = '\0';
    try_command(rights, "INFO", 2, (struct slice[]){SLICE("INFO"), SLICE("never")});
    try_command(rights, "BLPOP", 3, (struct slice[]){SLICE("BLPOP"), never, SLICE("never")});
    try_command(rights, "WAIT", 3, (struct slice[]){SLICE("WAIT"), SLICE("none"), SLICE("never")});
    try_command(rights, "FUNCTION LOAD", 3,
                (struct slice[]){SLICE("FUNCTION"), SLICE("LOAD"), SLICE("never")});
    struct script_call *call = script_call_new(SCRIPT_RIGHTS, rights->jobs_key);
    script_args_text(script_call_args(call), slice_of(script_commands));
    script_call_send(call, rights->link, on_tried, rights);
}

struct rights *rights_new(struct redis_link *link, struct slice jobs_key, const struct store_options *options,
                          loop_fn *on_known, void *arg)
{
    struct rights *rights = NEW(struct rights);
    rights->link = link;
    rights->jobs_key = jobs_key;
    rights->options = options;
    rights->on_known = on_known;
    rights->arg = arg;
    buffer_init(&rights->never_key, KEY_MAX);
    buffer_append(&rights->never_key, (struct slice){jobs_key.data, jobs_key.size - strlen("jobs")});
    buffer_append(&rights->never_key, SLICE("never"));
    return rights;
}

void rights_free(struct rights *rights)
{
    if (!rights)
        return;
    buffer_fini(&rights->never_key);
    free(rights);
}

bool rights_need_recheck(const struct rights *rights)
{
    return !rights->is_known || rights->names[0] || rights->is_subscription_denied;
}

void rights_recheck(struct rights *rights)
{
    rights->is_known = false;
}

void rights_note_subscription(struct rights *rights, bool is_denied)
{
    rights->is_subscription_denied = is_denied;
}

void rights_format_line(const struct store_options *options, char text[RIGHTS_LINE_MAX])
{
    const char *user = options->redis->user ? options->redis->user : "default";
    snprintf(text, RIGHTS_LINE_MAX, "ACL SETUSER %.64s ~%s* &%s* " COMMANDS, user, options->prefix,
             options->prefix);
}

const char *rights_refusal(struct rights *rights)
{
    char line[RIGHTS_LINE_MAX];
    const char *subscribe = rights->is_subscription_denied ? "SUBSCRIBE" : "";
    if (!rights->names[0] && !subscribe[0])
        return NULL;
    rights_format_line(rights->options, line);
    snprintf(rights->refusal, sizeof rights->refusal,
             "the Redis user lacks rights (%s%s%s); run on Redis: %s", rights->names,
             rights->names[0] && subscribe[0] ? ", " : "", subscribe, line);
    return rights->refusal;
}
