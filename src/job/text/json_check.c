/* json_check.c - checks whether a text is valid JSON, in one pass and without recursion. */
#include <assert.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/utf8.h"
#include "job/text/json.h"

/* ---- duplicate keys ----
 *
 * The keys of all open objects are on a stack: the keys of an object come after the keys of the object that
 * contains it. The keys of an object are compared only when the object ends, so that even the worst text
 * takes little more than linear time. */

enum {
    JSON_KEYS_INLINE = 64, /* number of keys that need no memory from the heap */
    FEW = 16, /* up to this number, each key of an object is compared with each other key; more keys
                 are sorted */
};

struct json_key {
    const char *data; /* decoded */
    size_t size;
    uint64_t head;  /* the first bytes of the key; nearly always, comparing these bytes is enough */
    const char *at; /* position of the key in the text */
};

struct json_keys {
    struct json_key *items;
    size_t count, capacity;
    struct json_key inline_items[JSON_KEYS_INLINE];
    struct buffer unescaped; /* the decoded texts of keys with escapes; this memory never moves */
};

static bool grow(struct json_keys *keys)
{
    bool is_inline = keys->items == keys->inline_items;
    struct json_key *items =
        realloc(is_inline ? NULL : keys->items, 2 * keys->capacity * sizeof *keys->items);
    if (!items)
        return false;
    if (is_inline)
        memcpy(items, keys->inline_items, sizeof keys->inline_items);
    keys->items = items;
    keys->capacity *= 2;
    return true;
}

/* Adds a key. Borrows string, the key with its quotes, until the key is removed. text_left is the size of the
 * text from the key to the end; it limits the memory for keys with escapes. Returns false if there is no
 * memory. */
static bool keys_add(struct json_keys *keys, struct slice string, bool has_escapes, size_t text_left)
{
    struct slice text = slice_from(string.data + 1, string.size - 2);
    if (has_escapes) {
        /* A decoded key is never longer than its text, so all decoded keys fit. */
        if (!keys->unescaped.data) {
            buffer_init_fallible(&keys->unescaped, text_left);
            buffer_reserve(&keys->unescaped, text_left);
        }
        text = json_text(string, &keys->unescaped);
    }
    if (keys->unescaped.failed || (keys->count == keys->capacity && !grow(keys)))
        return false;
    struct json_key key = {text.data, text.size, 0, string.data};
    if (key.size)
        memcpy(&key.head, key.data, key.size < sizeof key.head ? key.size : sizeof key.head);
    keys->items[keys->count++] = key;
    return true;
}

static int order(const struct json_key *a, const struct json_key *b)
{
    if (a->head != b->head)
        return a->head < b->head ? -1 : 1;
    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return a->size <= sizeof a->head ? 0 : memcmp(a->data, b->data, a->size);
}

static int compare(const void *a, const void *b)
{
    return order(a, b);
}

/* ---- the scanner ---- */

struct frame {
    bool is_object;
    size_t first_key;
};

struct scanner {
    const char *start, *at, *end;
    const struct json_limits *limits;
    const char *fault; /* a literal */
    bool is_json;      /* see struct json_fault */
    bool has_no_memory;
    struct frame frames[JSON_DEPTH_MAX];
    size_t depth;
    struct json_keys keys;
};

enum byte_class { PLAIN, QUOTE, BACKSLASH, CONTROL, MULTI };

static const uint8_t byte_classes[256] = {
    [0 ... 0x1f] = CONTROL,
    ['"'] = QUOTE,
    ['\\'] = BACKSLASH,
    [0x80 ... 0xff] = MULTI,
};

static bool fail(struct scanner *scanner, const char *detail)
{
    scanner->fault = detail;
    return false;
}

/* Fails because the text breaks a rule of duepost, although JSON allows it. */
static bool forbid(struct scanner *scanner, const char *detail)
{
    scanner->is_json = true;
    return fail(scanner, detail);
}

static bool not_json(struct scanner *scanner)
{
    return fail(scanner, scanner->at == scanner->end ? "ends too early" : "is not valid JSON");
}

/* Returns the next byte, or NUL at the end of the text. A NUL inside the text leads to the same result,
 * because it is not valid JSON. */
static char peek(const struct scanner *scanner)
{
    return scanner->at < scanner->end ? *scanner->at : '\0';
}

static char skip_space(struct scanner *scanner)
{
    char byte = peek(scanner);
    while (byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t') {
        scanner->at++;
        byte = peek(scanner);
    }
    return byte;
}

/* Scans an escape, which begins with the backslash at scanner->at. */
static bool scan_escape(struct scanner *scanner, bool is_key)
{
    unsigned code;
    struct slice rest = slice_from(scanner->at, (size_t)(scanner->end - scanner->at));
    if (rest.size < 2)
        return fail(scanner, "ends too early");
    if (rest.data[1] != 'u') {
        if (rest.data[1] == '\0' || !strchr("\"\\/bfnrt", rest.data[1]))
            return fail(scanner, "has an unknown escape");
        scanner->at += 2;
        return true;
    }
    if (!json_take_code(
            &rest,
            &code)) /* JSON allows a lone surrogate, although it is not a character; duepost does not */
        return forbid(scanner, "has a broken escape or a lone surrogate");
    if (code == 0 && is_key)
        return forbid(scanner, "has a NUL in a key");
    scanner->at = rest.data;
    return true;
}

/* Scans a string. Moves scanner->at from the opening quote to the byte after the closing quote. */
static bool scan_string(struct scanner *scanner, bool is_key, bool *has_escapes)
{
    *has_escapes = false;
    scanner->at++;
    for (;;) {
        const char *at = json_plain_end(scanner->at, scanner->end);
        scanner->at = at;
        if (at == scanner->end)
            return fail(scanner, "ends too early");
        switch (byte_classes[(uint8_t)*at]) {
        case QUOTE:
            scanner->at++;
            return true;
        case BACKSLASH:
            *has_escapes = true;
            if (!scan_escape(scanner, is_key))
                return false;
            break;
        case MULTI: { /* one character above U+007F */
            size_t size = utf8_size((uint8_t)*at);
            if (size == 0 || (size_t)(scanner->end - at) < size || !utf8_is_sound((const uint8_t *)at, size))
                return fail(scanner, "is not valid UTF-8");
            scanner->at += size;
            break;
        }
        default:
            return fail(scanner, "has a control byte in a string");
        }
    }
}

static bool scan_digits(struct scanner *scanner)
{
    const char *first = scanner->at;
    while (peek(scanner) >= '0' && peek(scanner) <= '9')
        scanner->at++;
    return scanner->at > first || not_json(scanner);
}

static bool scan_number(struct scanner *scanner)
{
    if (peek(scanner) == '-')
        scanner->at++;
    if (peek(scanner) == '0')
        scanner->at++;
    else if (!scan_digits(scanner))
        return false;
    if (peek(scanner) == '.') {
        scanner->at++;
        if (!scan_digits(scanner))
            return false;
    }
    if (peek(scanner) != 'e' && peek(scanner) != 'E')
        return true;
    scanner->at++;
    if (peek(scanner) == '+' || peek(scanner) == '-')
        scanner->at++;
    return scan_digits(scanner);
}

static bool scan_word(struct scanner *scanner, struct slice word)
{
    if (!slice_starts_with(slice_from(scanner->at, (size_t)(scanner->end - scanner->at)), word))
        return not_json(scanner);
    scanner->at += word.size;
    return true;
}

static bool scan_scalar(struct scanner *scanner, char first)
{
    bool ignored;
    switch (first) {
    case '"':
        return scan_string(scanner, false, &ignored);
    case 't':
        return scan_word(scanner, SLICE("true"));
    case 'f':
        return scan_word(scanner, SLICE("false"));
    case 'n':
        return scan_word(scanner, SLICE("null"));
    default:
        return scan_number(scanner);
    }
}

/* Scans a key and its colon. */
static bool scan_key(struct scanner *scanner)
{
    bool has_escapes;
    const struct frame *frame = &scanner->frames[scanner->depth - 1];
    if (skip_space(scanner) != '"')
        return not_json(scanner);
    if (scanner->keys.count - frame->first_key == scanner->limits->members)
        return forbid(scanner, "has too many members in one object");
    const char *first = scanner->at;
    if (!scan_string(scanner, true, &has_escapes))
        return false;
    struct slice key = slice_from(first, (size_t)(scanner->at - first));
    if (!keys_add(&scanner->keys, key, has_escapes, (size_t)(scanner->end - first))) {
        scanner->has_no_memory = true;
        return false;
    }
    if (skip_space(scanner) != ':')
        return not_json(scanner);
    scanner->at++;
    return true;
}

/* Returns the position of a key that the object already has, or NULL. Many keys are sorted: a hash table
 * could be made slow by a client that chooses keys with the same hash. */
static const char *find_twin(struct json_key *items, size_t count)
{
    if (count <= FEW) {
        for (size_t i = 1; i < count; i++)
            for (size_t j = 0; j < i; j++)
                if (order(&items[i], &items[j]) == 0)
                    return items[i].at;
        return NULL;
    }
    qsort(items, count, sizeof *items, compare);
    for (size_t i = 1; i < count; i++)
        if (order(&items[i - 1], &items[i]) == 0)
            return items[i].at > items[i - 1].at ? items[i].at : items[i - 1].at;
    return NULL;
}

static bool close_value(struct scanner *scanner)
{
    const struct frame *frame = &scanner->frames[--scanner->depth];
    struct json_key *keys = scanner->keys.items + frame->first_key;
    size_t count = scanner->keys.count - frame->first_key;
    const char *twin = find_twin(keys, count);
    scanner->keys.count = frame->first_key;
    if (twin) {
        scanner->at = twin;
        return forbid(scanner, "has a member twice");
    }
    scanner->at++;
    return true;
}

/* Scans one value. If the value is an object or array with contents, scans its opening bracket and continues
 * with the first value inside. */
static bool scan_value(struct scanner *scanner)
{
    for (;;) {
        char first = skip_space(scanner);
        if (first != '{' && first != '[')
            return scan_scalar(scanner, first);
        if (scanner->depth == scanner->limits->depth)
            return forbid(scanner, "nests too deep");
        scanner->frames[scanner->depth++] = (struct frame){first == '{', scanner->keys.count};
        scanner->at++;
        if (skip_space(scanner) == (first == '{' ? '}' : ']'))
            return true;
        if (first == '{' && !scan_key(scanner))
            return false;
    }
}

/* Scans the bytes after a value: first the closing brackets of the objects and arrays that end here, then the
 * comma before the next value. Stops at the next value, or after the outermost value. */
static bool scan_behind(struct scanner *scanner)
{
    while (scanner->depth > 0) {
        bool is_object = scanner->frames[scanner->depth - 1].is_object;
        char byte = skip_space(scanner);
        if (byte == ',') {
            scanner->at++;
            return !is_object || scan_key(scanner);
        }
        if (byte != (is_object ? '}' : ']'))
            return not_json(scanner);
        if (!close_value(scanner))
            return false;
    }
    return true;
}

/* Scans the value at the beginning of the scanner's text. Leaves scanner->at behind it, or at the fault. */
static enum status scan(struct scanner *scanner, struct slice text, const struct json_limits *limits)
{
    assert(limits->depth <= JSON_DEPTH_MAX);
    scanner->start = scanner->at = text.data;
    scanner->end = slice_end(text);
    scanner->limits = limits;
    scanner->fault = NULL;
    scanner->is_json = false;
    scanner->has_no_memory = false;
    scanner->depth = 0;
    scanner->keys.items = scanner->keys.inline_items;
    scanner->keys.count = 0;
    scanner->keys.capacity = JSON_KEYS_INLINE;
    buffer_init(&scanner->keys.unescaped, 0);

    bool is_sound;
    do {
        is_sound = scan_value(scanner) && scan_behind(scanner);
    } while (is_sound && scanner->depth > 0);
    if (scanner->keys.items != scanner->keys.inline_items)
        free(scanner->keys.items);
    buffer_fini(&scanner->keys.unescaped);
    if (scanner->has_no_memory)
        return STATUS_NO_MEMORY;
    return is_sound ? STATUS_OK : STATUS_INVALID;
}

enum status json_check(struct slice text, const struct json_limits *limits, struct json_fault *fault)
{
    struct scanner scanner;
    enum status status = scan(&scanner, text, limits);
    if (status == STATUS_OK) {
        skip_space(&scanner);
        if (scanner.at < scanner.end && !fail(&scanner, "is not valid JSON"))
            status = STATUS_INVALID;
    }
    *fault = (struct json_fault){(size_t)(scanner.at - scanner.start), scanner.fault, scanner.is_json};
    return status;
}

enum status json_check_value(struct json_cursor *cursor, const struct json_limits *limits,
                             struct slice *value)
{
    struct scanner scanner;
    struct slice text = slice_from(cursor->at, (size_t)(cursor->end - cursor->at));
    enum status status = scan(&scanner, text, limits);
    if (status == STATUS_OK) {
        *value = slice_from(cursor->at, (size_t)(scanner.at - cursor->at));
        cursor->at = scanner.at;
    }
    return status;
}
