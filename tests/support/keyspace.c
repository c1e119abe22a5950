#include "support/keyspace.h"

#include <check.h>
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>

#include "support/redis_server.h"

enum { TIME_DIGITS = 13, KEPT_WORDS = 4 };

void times_to_numbers(struct buffer *numbers, const char *text, int64_t now_ms)
{
    for (char before = ' '; *text; before = text[-1]) {
        bool is_time = strncmp(text, "now", 3) == 0 && !isalnum((unsigned char)before);
        if (!is_time) {
            buffer_append_byte(numbers, *text++);
            continue;
        }
        text += 3;
        char *end = (char *)(uintptr_t)text;
        int64_t more_ms = *text == '+' || *text == '-' ? strtoll(text, &end, 10) : 0;
        buffer_append_number(numbers, now_ms + more_ms);
        text = end;
    }
}

void numbers_to_times(struct buffer *times, const char *text, int64_t now_ms)
{
    while (*text) {
        size_t digits = strspn(text, "0123456789");
        if (digits == TIME_DIGITS) {
            int64_t more_ms = strtoll(text, NULL, 10) - now_ms;
            buffer_printf(times, more_ms ? "now%+lld" : "now", (long long)more_ms);
            text += digits;
        } else {
            size_t size = digits ? digits : 1;
            buffer_append(times, slice_from(text, size));
            text += size;
        }
    }
}

/* ---- load ---- */

static bool is_one_of(struct slice name, const char *const *names)
{
    for (; *names; names++)
        if (slice_starts_with(name, slice_of(*names)))
            return true;
    return false;
}

static bool is_hash(struct slice name)
{
    return slice_equal(name, SLICE("kept")) || slice_equal(name, SLICE("ended")) ||
           slice_equal(name, SLICE("ended_last")) || slice_equal(name, SLICE("history")) ||
           slice_equal(name, SLICE("sends")) || slice_equal(name, SLICE("skipped")) ||
           slice_equal(name, SLICE("workflows")) || slice_equal(name, SLICE("waits")) ||
           slice_equal(name, SLICE("expected")) || slice_equal(name, SLICE("limits")) ||
           slice_equal(name, SLICE("limits_used")) || slice_equal(name, SLICE("limited")) ||
           slice_equal(name, SLICE("lanes")) || slice_equal(name, SLICE("ranks")) ||
           slice_equal(name, SLICE("key_settings")) ||
           is_one_of(
               name,
               (const char *const[]){
                   "jobs",        "holders:",     "crashes",     "attempts",  "carry",         "meta",
                   "topics",      "patterns",     "rates",       "begun:",    "hour:",         "receivers",
                   "idempotency", "numbers",      "tokens_used", "survey",    "groups",        "schedules",
                   "fired",       "lines",        "completed:",  "workflow:", "workflow_jobs", "open:",
                   "steps:",      "event_names:", "openings",    "progress",  "access:",       "alerts",
                   NULL});
}

static bool is_list(struct slice name)
{
    return is_one_of(name, (const char *const[]){"ready", "ended_ids", "ended_read", "trail",
                                                 "elements:", "element_jobs:", "events:", NULL});
}

/* The dump has the values of the entries, without their ids, which contain the time of Redis. */
static bool is_stream(struct slice name)
{
    return slice_starts_with(name, SLICE("stream:"));
}

static bool is_set(struct slice name)
{
    return slice_starts_with(name, SLICE("lane_leases:")) || slice_equal(name, SLICE("openings_wanted")) ||
           slice_equal(name, SLICE("alerting"));
}

static bool has_words(struct slice name)
{
    return slice_equal(name, SLICE("ended")) || slice_equal(name, SLICE("skipped")) ||
           slice_equal(name, SLICE("limited")) || slice_equal(name, SLICE("lanes")) ||
           slice_equal(name, SLICE("expected")) ||
           is_one_of(name,
                     (const char *const[]){"holders:", "crashes", "kept", "receivers", "sends", "fired",
                                           "idempotency", "openings", "lines", "workflow:", "workflow_jobs",
                                           "waits", "element_jobs:", "steps:", "alerts", NULL});
}

/* Returns how many commas of a value, counted from its beginning, stand for blanks. In kept and ended, the
 * first few words are followed by a record, whose commas are real commas. */
static int blanks_of(struct slice name)
{
    return slice_equal(name, SLICE("kept")) || slice_equal(name, SLICE("ended")) ? KEPT_WORDS : INT_MAX;
}

static bool has_lines(struct slice name)
{
    return is_one_of(name,
                     (const char *const[]){"attempts", "kept", "ended", "idempotency", "completed:", NULL});
}

static bool has_records(struct slice name)
{
    return is_one_of(name, (const char *const[]){"jobs", "kept", "ended", NULL}) &&
           !slice_equal(name, SLICE("kept_until"));
}

/* Returns whether members of this key contain a newline. Such a member is an id, a newline and a nonce. In
 * the outbox, a field is an id, a newline and a number. The event of a webhook is "webhook", a newline and
 * the webhook's id. The name of a lane is a topic, a newline and a key. */
static bool has_places(struct slice name)
{
    return slice_starts_with(name, SLICE("holders:")) || slice_starts_with(name, SLICE("ended")) ||
           slice_ends_with(name, SLICE("lingering")) || slice_starts_with(name, SLICE("workflow:")) ||
           slice_starts_with(name, SLICE("event_names:")) || slice_equal(name, SLICE("suspects")) ||
           slice_equal(name, SLICE("ranks")) || slice_equal(name, SLICE("key_settings")) ||
           slice_starts_with(name, SLICE("lane_leases:")) || slice_equal(name, SLICE("lines")) ||
           slice_equal(name, SLICE("idempotency")) || slice_equal(name, SLICE("windows"));
}

/* Replaces the character from by to, at most "most" times. */
static void swap(struct slice text, char from, char to, int most)
{
    char *at = (char *)(uintptr_t)text.data;
    for (size_t i = 0; i < text.size && most > 0; i++) {
        if (at[i] != from)
            continue;
        at[i] = to;
        most--;
    }
}

/* Swaps within the head of a record, see job/job.h. */
static void swap_in_head(struct slice text, char from, char to)
{
    static const char name[] = "\"head\":\"";
    const char *head = memmem(text.data, text.size, name, sizeof name - 1);
    if (!head)
        return;
    head += sizeof name - 1;
    const char *end = memchr(head, '"', (size_t)(slice_end(text) - head));
    ck_assert_ptr_nonnull(end);
    swap(slice_from(head, (size_t)(end - head)), from, to, INT_MAX);
}

static void load_entry(redisContext *redis, struct slice name, struct slice entry)
{
    struct slice field, value;
    if (is_list(name)) {
        if (has_places(name))
            swap(entry, '|', '\n', INT_MAX);
        if (has_words(name))
            swap(entry, ',', ' ', INT_MAX);
        redis_do(redis, "RPUSH " KEYSPACE_PREFIX "%b %b", name.data, name.size, entry.data, entry.size);
    } else if (is_stream(name)) {
        swap(entry, ',', ' ', INT_MAX);
        redis_do(redis, "XADD " KEYSPACE_PREFIX "%b 1-* e %b", name.data, name.size, entry.data, entry.size);
    } else if (is_set(name)) {
        swap(entry, '|', '\n', INT_MAX);
        redis_do(redis, "SADD " KEYSPACE_PREFIX "%b %b", name.data, name.size, entry.data, entry.size);
    } else if (is_hash(name)) {
        ck_assert(slice_cut(entry, '=', &field, &value));
        if (has_words(name))
            swap(value, ',', ' ', blanks_of(name));
        if (has_lines(name))
            swap(value, '|', '\n', INT_MAX);
        if (has_records(name))
            swap_in_head(value, ';', ' ');
        if (has_places(name))
            swap(field, '|', '\n', INT_MAX);
        redis_do(redis, "HSET " KEYSPACE_PREFIX "%b %b %b", name.data, name.size, field.data, field.size,
                 value.data, value.size);
    } else {
        ck_assert(slice_cut(entry, '@', &field, &value));
        if (has_places(name))
            swap(field, '|', '\n', INT_MAX);
        redis_do(redis, "ZADD " KEYSPACE_PREFIX "%b %b %b", name.data, name.size, value.data, value.size,
                 field.data, field.size);
    }
}

/* ---- derived keys ---- */

/* ARGV[1] prefix   [2] 1: writes derived keys that do not exist; otherwise returns which of them are
 * correct */
static const char derive[] =
    "local base, writes = ARGV[1], ARGV[2] == '1'\n"
    "local names, is_named, waiting, held = {}, {}, 0, 0\n"
    "local function name(topic)\n"
    "  if not is_named[topic] then names[#names + 1] = topic end\n"
    "  is_named[topic] = true\n"
    "end\n"
    "local kinds = {bucket = 1, holders = 1, dead = 1, delivered = 1, cancelled = 1}\n"
    "for _, key in ipairs(redis.call('KEYS', base .. '*')) do\n"
    "  local kind, topic = string.match(string.sub(key, #base + 1), '^(%a+):(.+)$')\n"
    "  if kinds[kind] then name(topic) end\n"
    "  if kind == 'bucket' then waiting = waiting + redis.call('ZCARD', key) end\n"
    "  if kind == 'held' then held = held + redis.call('ZCARD', key) end\n"
    "end\n"
    "for _, topic in ipairs(redis.call('HKEYS', base .. 'topics')) do name(topic) end\n"
    "local behind = {}\n"
    "local due = redis.call('ZRANGE', base .. 'due', 0, -1, 'WITHSCORES')\n"
    "for i = 1, #due, 2 do\n"
    "  local first = redis.call('ZRANGE', base .. 'bucket:' .. due[i], 0, 0, 'WITHSCORES')[2]\n"
    "  if first and tonumber(first) < tonumber(due[i + 1]) then behind[#behind + 1] = due[i] end\n"
    "end\n"
    "local ended, outbox = redis.call('HGETALL', base .. 'ended'), 0\n"
    "for i = 1, #ended, 2 do outbox = outbox + 2 * #ended[i] + #ended[i + 1] end\n"
    "local function is_index(key, topics)\n"
    "  local is_right = #topics == redis.call('ZCARD', key)\n"
    "  for _, topic in ipairs(topics) do is_right = is_right and redis.call('ZSCORE', key, topic) == '0' "
    "end\n"
    "  return is_right and 1 or 0\n"
    "end\n"
    "local function write(key, topics)\n"
    "  if redis.call('EXISTS', key) == 1 then return end\n"
    "  for _, topic in ipairs(topics) do redis.call('ZADD', key, 0, topic) end\n"
    "end\n"
    "if not writes then\n"
    "  local is_right = tonumber(redis.call('HGET', base .. 'numbers', 'waiting') or 0) == waiting and\n"
    "    tonumber(redis.call('HGET', base .. 'numbers', 'held') or 0) == held and\n"
    "    tonumber(redis.call('HGET', base .. 'numbers', 'outbox_bytes') or 0) == outbox and\n"
    "    redis.call('HEXISTS', base .. 'numbers', 'outbox_dropped') == 0 and\n"
    "    redis.call('HEXISTS', base .. 'numbers', 'outbox_again') == 0 and\n"
    "    redis.call('HEXISTS', base .. 'numbers', 'trail_bytes') == 0 and\n"
    "    redis.call('HEXISTS', base .. 'numbers', 'trail_removed') == 0 and\n"
    "    redis.call('HEXISTS', base .. 'numbers', 'outbox_removed') == 0\n"
    "  return {is_index(base .. 'behind', behind), is_index(base .. 'names', names), is_right and 1 or 0}\n"
    "end\n"
    "write(base .. 'behind', behind)\n"
    "write(base .. 'names', names)\n"
    "if waiting > 0 then redis.call('HSETNX', base .. 'numbers', 'waiting', waiting) end\n"
    "if held > 0 then redis.call('HSETNX', base .. 'numbers', 'held', held) end\n"
    "if outbox > 0 then redis.call('HSETNX', base .. 'numbers', 'outbox_bytes', outbox) end\n"
    "return {}\n";

/* The derived keys, in the order of the elements in the answer of the script "derive". */
static const char *const following[] = {KEYSPACE_PREFIX "behind", KEYSPACE_PREFIX "names",
                                        KEYSPACE_PREFIX "numbers"};
enum { FOLLOWING = sizeof following / sizeof *following };

static redisReply *run_derive(redisContext *redis, bool writes)
{
    return redis_command(redis, "EVAL %s 0 " KEYSPACE_PREFIX " %d", derive, writes);
}

void keyspace_load(redisContext *redis, const char *text, int64_t now_ms)
{
    struct buffer numbers;
    buffer_init(&numbers, 1024 * 1024);
    times_to_numbers(&numbers, text, now_ms);
    redis_do(redis, "FLUSHALL");
    struct slice line, name, entry, rest = buffer_slice(&numbers);
    while (rest.size) {
        slice_cut(rest, '\n', &line, &rest);
        const char *end = memmem(line.data, line.size, ": ", 2);
        ck_assert_msg(end != NULL, "no key: %.*s", SLICE_ARG(line));
        name = slice_from(line.data, (size_t)(end - line.data));
        swap(name, '|', '\n', INT_MAX);
        line = slice_skip(line, name.size + 2);
        while (line.size) {
            slice_cut(line, ' ', &entry, &line);
            load_entry(redis, name, entry);
        }
    }
    freeReplyObject(run_derive(redis, true));
    buffer_fini(&numbers);
}

/* ---- dump ---- */

static int compare_texts(const void *a, const void *b)
{
    const redisReply *const *left = a, *const *right = b;
    return strcmp((*left)->str, (*right)->str);
}

/* Sorts a reply whose elements are in groups, by the first element of each group. step: the size of a
 * group; 2 for a hash, whose groups are a field and its value. */
static void sort(redisReply *reply, size_t step)
{
    if (reply->elements)
        qsort(reply->element, reply->elements / step, step * sizeof *reply->element, compare_texts);
}

static void dump_pairs(struct buffer *text, struct slice name, redisReply *pairs, char separator)
{
    for (size_t i = 0; i < pairs->elements; i += 2) {
        redisReply *value = pairs->element[i + 1];
        if (has_words(name))
            swap(slice_from(value->str, value->len), ' ', ',', blanks_of(name));
        if (has_lines(name))
            swap(slice_from(value->str, value->len), '\n', '|', INT_MAX);
        if (has_records(name))
            swap_in_head(slice_from(value->str, value->len), ' ', ';');
        if (has_places(name))
            swap(slice_from(pairs->element[i]->str, pairs->element[i]->len), '\n', '|', INT_MAX);
        buffer_printf(text, " %s%c%s", pairs->element[i]->str, separator, value->str);
    }
}

static void dump_key(redisContext *redis, struct buffer *text, const char *key)
{
    ck_assert_msg(strncmp(key, KEYSPACE_PREFIX, strlen(KEYSPACE_PREFIX)) == 0, "a key %s", key);
    const char *name = key + strlen(KEYSPACE_PREFIX);
    redisReply *entries;
    size_t start = text->size;
    buffer_printf(text, "%s:", name);
    swap(slice_skip(buffer_slice(text), start), '\n', '|', INT_MAX);
    if (is_list(slice_of(name))) {
        entries = redis_command(redis, "LRANGE %s 0 -1", key);
        for (size_t i = 0; i < entries->elements; i++) {
            struct slice entry = slice_from(entries->element[i]->str, entries->element[i]->len);
            swap(entry, '\n', '|', INT_MAX);
            if (has_words(slice_of(name)))
                swap(entry, ' ', ',', INT_MAX);
            buffer_printf(text, " %s", entries->element[i]->str);
        }
    } else if (is_stream(slice_of(name))) {
        entries = redis_command(redis, "XRANGE %s - +", key);
        for (size_t i = 0; i < entries->elements; i++) {
            const redisReply *value = entries->element[i]->element[1]->element[1];
            struct slice entry = slice_from(value->str, value->len);
            swap(entry, '\n', '|', INT_MAX);
            swap(entry, ' ', ',', INT_MAX);
            buffer_printf(text, " %s", value->str);
        }
    } else if (is_set(slice_of(name))) {
        entries = redis_command(redis, "SMEMBERS %b", key, strlen(key));
        sort(entries, 1);
        for (size_t i = 0; i < entries->elements; i++) {
            swap(slice_from(entries->element[i]->str, entries->element[i]->len), '\n', '|', INT_MAX);
            buffer_printf(text, " %s", entries->element[i]->str);
        }
    } else if (is_hash(slice_of(name))) {
        entries = redis_command(redis, "HGETALL %s", key);
        sort(entries, 2);
        dump_pairs(text, slice_of(name), entries, '=');
    } else {
        entries = redis_command(redis, "ZRANGE %s 0 -1 WITHSCORES", key);
        dump_pairs(text, slice_of(name), entries, '@');
    }
    buffer_append_byte(text, '\n');
    freeReplyObject(entries);
}

static bool has_key(const redisReply *keys, const char *key)
{
    for (size_t i = 0; i < keys->elements; i++)
        if (strcmp(keys->element[i]->str, key) == 0)
            return true;
    return false;
}

static bool is_left_out(struct slice key, const redisReply *right)
{
    if (slice_starts_with(key, SLICE(KEYSPACE_PREFIX "hour:")) ||
        slice_starts_with(key, SLICE(KEYSPACE_PREFIX "failures:")) ||
        slice_equal(key, SLICE(KEYSPACE_PREFIX "resumed")))
        return true;
    for (size_t i = 0; i < FOLLOWING; i++)
        if (right->element[i]->integer && slice_equal(key, slice_of(following[i])))
            return true;
    return false;
}

void keyspace_dump(redisContext *redis, struct buffer *text, int64_t now_ms)
{
    struct buffer numbers;
    buffer_init(&numbers, 1024 * 1024);
    redisReply *keys = redis_command(redis, "KEYS *");
    redisReply *right = run_derive(redis, false);
    sort(keys, 1);
    for (size_t i = 0; i < keys->elements; i++)
        if (!is_left_out(slice_of(keys->element[i]->str), right))
            dump_key(redis, &numbers, keys->element[i]->str);
    for (size_t i = 0; i < FOLLOWING; i++)
        if (!right->element[i]->integer && !has_key(keys, following[i]))
            buffer_printf(&numbers, "%s is missing\n", following[i]);
    freeReplyObject(right);
    numbers_to_times(text, buffer_text(&numbers), now_ms);
    freeReplyObject(keys);
    buffer_fini(&numbers);
}
