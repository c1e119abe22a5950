#include "base/seal.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/encoding.h"
#include "base/memory.h"
#include "base/system.h"

enum {
    FORMAT = 1,
    NAME_BYTES = 4,
    SALT_BYTES = 32,
    COUNT_BYTES = 8,
    TAG_BYTES = 16,
    NONCE_BYTES = 12, /* GCM's nonce: four zeros, and the count */
    HEAD_BYTES = 1 + NAME_BYTES + SALT_BYTES + COUNT_BYTES,
    DATA_KEYS_MAX = 64, /* data keys of other threads and processes that a thread keeps */
    SHA256_BYTES = 32,
    SCRATCH_KEPT = 256 * 1024,
    SCRATCH_MAX = 128 * 1024 * 1024,
};
#define TEXTS_MAX (UINT64_C(1) << 32) /* texts of one data key (NIST SP 800-38D, 8.3) */

/* ---- the keys of the process ---- */

struct seal_key {
    unsigned char bytes[SEAL_KEY_BYTES];
    unsigned char name[NAME_BYTES];
};

struct seal_keys {
    atomic_int uses;
    size_t count;
    struct seal_key keys[SEAL_KEYS_MAX];
};

static struct {
    pthread_mutex_t lock;   /* guards keys */
    struct seal_keys *keys; /* NULL: none */
    atomic_uint version;    /* changes with keys */
    atomic_bool is_on, has_labels;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER, .version = 1};

static void keys_release(struct seal_keys *keys)
{
    if (!keys || atomic_fetch_sub(&keys->uses, 1) > 1)
        return;
    OPENSSL_cleanse(keys, sizeof *keys);
    free(keys);
}

void seal_keys_free(struct seal_keys *keys)
{
    keys_release(keys);
}

static void name_key(struct seal_key *key)
{
    static const char label[] = "duepost key name";
    unsigned char digest[SHA256_BYTES];
    unsigned size = 0;
    bool ok = HMAC(EVP_sha256(), key->bytes, SEAL_KEY_BYTES, (const unsigned char *)label, sizeof label - 1,
                   digest, &size) != NULL;
    assert(ok && size == SHA256_BYTES);
    memcpy(key->name, digest, NAME_BYTES);
}

/* Reads a key from a line. */
static bool read_key(struct slice line, struct seal_key *key)
{
    char room[SEAL_KEY_BYTES + 4];
    struct buffer bytes = buffer_of(room, sizeof room);
    bool is_hex = line.size == (size_t)2 * SEAL_KEY_BYTES;
    for (size_t i = 0; is_hex && i < line.size; i += 2) {
        int high = hex_value(line.data[i]), low = hex_value(line.data[i + 1]);
        is_hex = high >= 0 && low >= 0;
        if (is_hex)
            buffer_append_byte(&bytes, (char)(high << 4 | low));
    }
    if (!is_hex) {
        buffer_clear(&bytes);
        (void)base64_decode(line, &bytes);
    }
    bool is_key = !bytes.failed && bytes.size == SEAL_KEY_BYTES;
    if (is_key)
        memcpy(key->bytes, room, SEAL_KEY_BYTES);
    OPENSSL_cleanse(room, sizeof room);
    if (is_key)
        name_key(key);
    return is_key;
}

static const struct seal_key *find_key(const struct seal_keys *keys, const unsigned char *name)
{
    for (size_t i = 0; keys && i < keys->count; i++)
        if (memcmp(keys->keys[i].name, name, NAME_BYTES) == 0)
            return &keys->keys[i];
    return NULL;
}

enum status seal_keys_parse(struct slice text, struct seal_keys **result, struct problem *problem)
{
    struct seal_keys *keys = NEW(struct seal_keys);
    struct slice line;
    keys->uses = 1;
    *result = NULL;
    for (size_t number = 1; text.size; number++) {
        struct seal_key key;
        slice_cut(text, '\n', &line, &text);
        if (slice_ends_with(line, SLICE("\r")))
            line.size--;
        line = slice_trim(line);
        if (line.size == 0 || line.data[0] == '#')
            continue;
        if (keys->count == SEAL_KEYS_MAX)
            problem_set(problem, "line %zu: a file has at most %d keys", number, SEAL_KEYS_MAX);
        else if (!read_key(line, &key))
            problem_set(problem, "line %zu: a key is 64 hexadecimal digits or base64 of 32 random bytes",
                        number);
        else if (find_key(keys, key.name))
            problem_set(problem, "line %zu: the key is in an earlier line, too", number);
        else {
            keys->keys[keys->count++] = key;
            OPENSSL_cleanse(&key, sizeof key);
            continue;
        }
        seal_keys_free(keys);
        return STATUS_INVALID;
    }
    if (keys->count == 0) {
        problem_set(problem, "it has no key; a key is 64 hexadecimal digits or base64 of 32 random bytes");
        seal_keys_free(keys);
        return STATUS_INVALID;
    }
    *result = keys;
    return STATUS_OK;
}

size_t seal_keys_count(const struct seal_keys *keys)
{
    return keys->count;
}

void seal_keys_name(const struct seal_keys *keys, size_t index, char name[SEAL_NAME_SIZE])
{
    assert(index < keys->count);
    hex_write(name, keys->keys[index].name, NAME_BYTES);
    name[SEAL_NAME_SIZE - 1] = '\0';
}

void seal_use(struct seal_keys *keys, bool with_labels)
{
    if (keys)
        atomic_fetch_add(&keys->uses, 1);
    pthread_mutex_lock(&process.lock);
    struct seal_keys *old = process.keys;
    process.keys = keys;
    atomic_store(&process.is_on, keys != NULL);
    atomic_store(&process.has_labels, keys && with_labels);
    atomic_fetch_add(&process.version, 1);
    pthread_mutex_unlock(&process.lock);
    keys_release(old);
}

bool seal_is_on(void)
{
    return atomic_load_explicit(&process.is_on, memory_order_relaxed);
}

bool seal_has_labels(void)
{
    return atomic_load_explicit(&process.has_labels, memory_order_relaxed);
}

/* ---- the data keys of a thread ---- */

struct data_key {
    unsigned char name[NAME_BYTES], salt[SALT_BYTES];
    EVP_CIPHER_CTX *cipher; /* has the key; NULL: the entry is free */
};

struct seal_thread {
    unsigned version; /* version of the keys; 0: not set yet */
    struct seal_keys *keys;
    struct data_key own; /* seals */
    uint64_t count;      /* number of texts that own has sealed */
    struct data_key others[DATA_KEYS_MAX];
    size_t next; /* the entry of others that is replaced next */
    struct buffer scratch;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key;

static void data_key_fini(struct data_key *key)
{
    EVP_CIPHER_CTX_free(key->cipher);
    *key = (struct data_key){.cipher = NULL};
}

static void thread_clear(struct seal_thread *thread)
{
    data_key_fini(&thread->own);
    for (size_t i = 0; i < DATA_KEYS_MAX; i++)
        data_key_fini(&thread->others[i]);
    keys_release(thread->keys);
    thread->keys = NULL;
}

static void thread_free(void *arg)
{
    struct seal_thread *thread = arg;
    thread_clear(thread);
    buffer_fini(&thread->scratch);
    free(thread);
}

static void free_main(void)
{
    struct seal_thread *thread = pthread_getspecific(thread_key);
    if (thread)
        thread_free(thread);
    pthread_setspecific(thread_key, NULL);
}

static void make_thread_key(void)
{
    int failed = pthread_key_create(&thread_key, thread_free);
    assert(!failed);
    atexit(free_main); /* the destructor of a key is not called for the main thread */
}

/* Returns the state of this thread, with the current keys of the process. */
static struct seal_thread *this_thread(void)
{
    static _Thread_local struct seal_thread *known;
    if (!known) {
        pthread_once(&once, make_thread_key);
        known = NEW(struct seal_thread);
        buffer_init(&known->scratch, SCRATCH_MAX);
        pthread_setspecific(thread_key, known);
    }
    if (known->version != atomic_load_explicit(&process.version, memory_order_acquire)) {
        thread_clear(known);
        pthread_mutex_lock(&process.lock);
        known->version = atomic_load(&process.version);
        known->keys = process.keys;
        if (known->keys)
            atomic_fetch_add(&known->keys->uses, 1);
        pthread_mutex_unlock(&process.lock);
    }
    return known;
}

/* HKDF with SHA-256 (RFC 5869); its output has one block. */
static void derive(const struct seal_key *key, const unsigned char *salt,
                   unsigned char data_key[SHA256_BYTES])
{
    static const char info[] = "duepost data key\x01";
    unsigned char between[SHA256_BYTES];
    unsigned size = 0;
    bool ok = HMAC(EVP_sha256(), salt, SALT_BYTES, key->bytes, SEAL_KEY_BYTES, between, &size) &&
              HMAC(EVP_sha256(), between, SHA256_BYTES, (const unsigned char *)info, sizeof info - 1,
                   data_key, &size);
    assert(ok && size == SHA256_BYTES);
    OPENSSL_cleanse(between, sizeof between);
}

static void data_key_init(struct data_key *data, const struct seal_key *key, const unsigned char *salt,
                          bool seals)
{
    unsigned char bytes[SHA256_BYTES];
    derive(key, salt, bytes);
    memcpy(data->name, key->name, NAME_BYTES);
    memcpy(data->salt, salt, SALT_BYTES);
    data->cipher = EVP_CIPHER_CTX_new();
    int ok = data->cipher && EVP_CipherInit_ex(data->cipher, EVP_aes_256_gcm(), NULL, bytes, NULL, seals);
    assert(ok);
    OPENSSL_cleanse(bytes, sizeof bytes);
}

static void renew_own(struct seal_thread *thread)
{
    unsigned char salt[SALT_BYTES];
    data_key_fini(&thread->own);
    random_fill(salt, sizeof salt);
    data_key_init(&thread->own, &thread->keys->keys[0], salt, true);
    thread->count = 0;
}

/* Returns the data key that has sealed a text, or NULL if the process lacks the key of the file. */
static struct data_key *find_data_key(struct seal_thread *thread, const unsigned char *name,
                                      const unsigned char *salt)
{
    for (size_t i = 0; i < DATA_KEYS_MAX; i++) {
        struct data_key *each = &thread->others[i];
        if (each->cipher && memcmp(each->salt, salt, SALT_BYTES) == 0 &&
            memcmp(each->name, name, NAME_BYTES) == 0)
            return each;
    }
    const struct seal_key *key = find_key(thread->keys, name);
    if (!key)
        return NULL;
    struct data_key *data = &thread->others[thread->next];
    thread->next = (thread->next + 1) % DATA_KEYS_MAX;
    data_key_fini(data);
    data_key_init(data, key, salt, false);
    return data;
}

/* Gives back the memory of a large text. */
static void shrink(struct buffer *scratch)
{
    if (scratch->capacity > SCRATCH_KEPT) {
        buffer_fini(scratch);
        buffer_init(scratch, SCRATCH_MAX);
    }
}

/* ---- sealing ---- */

/* Writes the nonce of the text with this count. */
static void write_nonce(uint64_t count, unsigned char nonce[NONCE_BYTES])
{
    memset(nonce, 0, NONCE_BYTES);
    for (size_t i = 0; i < COUNT_BYTES; i++)
        nonce[NONCE_BYTES - 1 - i] = (unsigned char)(count >> 8 * i);
}

/* Runs the cipher over the owner, which is authenticated only, and the text. */
static bool seal_run(struct data_key *key, const unsigned char *nonce, struct slice owner, const void *from,
                     size_t size, unsigned char *to)
{
    int done = 0;
    return EVP_CipherInit_ex(key->cipher, NULL, NULL, NULL, nonce, -1) &&
           EVP_CipherUpdate(key->cipher, NULL, &done, (const unsigned char *)owner.data, (int)owner.size) &&
           (size == 0 || EVP_CipherUpdate(key->cipher, to, &done, from, (int)size));
}

void seal_append(struct buffer *out, struct slice owner, struct slice plain)
{
    struct seal_thread *thread = this_thread();
    unsigned char nonce[NONCE_BYTES];
    int ignored = 0;
    assert(thread->keys && owner.size);
    if (!thread->own.cipher || thread->count == TEXTS_MAX)
        renew_own(thread);
    struct buffer *scratch = &thread->scratch;
    buffer_clear(scratch);
    unsigned char *at = (unsigned char *)buffer_extend(scratch, HEAD_BYTES + plain.size + TAG_BYTES);
    if (!at) {
        out->failed = true;
        return;
    }
    write_nonce(++thread->count, nonce);
    *at = FORMAT;
    memcpy(at + 1, thread->own.name, NAME_BYTES);
    memcpy(at + 1 + NAME_BYTES, thread->own.salt, SALT_BYTES);
    memcpy(at + HEAD_BYTES - COUNT_BYTES, nonce + NONCE_BYTES - COUNT_BYTES, COUNT_BYTES);
    bool ok = seal_run(&thread->own, nonce, owner, plain.data, plain.size, at + HEAD_BYTES) &&
              EVP_CipherFinal_ex(thread->own.cipher, at + HEAD_BYTES + plain.size, &ignored) &&
              EVP_CIPHER_CTX_ctrl(thread->own.cipher, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES,
                                  at + HEAD_BYTES + plain.size);
    assert(ok);
    base64url_append(out, buffer_slice(scratch));
    shrink(scratch);
}

/* ---- opening ---- */

/* Decodes the sealed text. Returns false if it has another form. */
static bool seal_decode(struct slice sealed, struct buffer *out)
{
    buffer_clear(out);
    return base64url_decode(sealed, out) && !out->failed && out->size >= HEAD_BYTES + TAG_BYTES &&
           out->data[0] == FORMAT;
}

enum seal_answer seal_open(struct slice sealed, struct slice owner, struct buffer *plain)
{
    struct seal_thread *thread = this_thread();
    struct buffer *scratch = &thread->scratch;
    unsigned char nonce[NONCE_BYTES] = {0};
    int ignored = 0;
    if (!seal_decode(sealed, scratch))
        return SEAL_DAMAGED;
    unsigned char *at = (unsigned char *)scratch->data;
    struct data_key *key = find_data_key(thread, at + 1, at + 1 + NAME_BYTES);
    if (!key)
        return SEAL_NO_KEY;
    size_t size = scratch->size - HEAD_BYTES - TAG_BYTES, first = plain->size;
    unsigned char *to = (unsigned char *)buffer_extend(plain, size);
    if (!to && size > 0)
        return SEAL_DAMAGED;
    memcpy(nonce + NONCE_BYTES - COUNT_BYTES, at + HEAD_BYTES - COUNT_BYTES, COUNT_BYTES);
    bool ok = seal_run(key, nonce, owner, at + HEAD_BYTES, size, to) &&
              EVP_CIPHER_CTX_ctrl(key->cipher, EVP_CTRL_AEAD_SET_TAG, TAG_BYTES, at + HEAD_BYTES + size) &&
              EVP_CipherFinal_ex(key->cipher, to ? to + size : at, &ignored) > 0;
    if (!ok) {
        OPENSSL_cleanse(to, size);
        plain->size = first;
    }
    shrink(scratch);
    return ok ? SEAL_OPENED : SEAL_DAMAGED;
}

/* Decodes the beginning of a sealed text: format and name of the key. Returns false if it has another form.
 */
static bool decode_name(struct slice sealed, unsigned char head[6])
{
    char room[8];
    struct buffer bytes = buffer_of(room, sizeof room);
    bool is_sealed = sealed.size >= SEAL_SIZE((size_t)0) - 1 &&
                     base64url_decode(slice_from(sealed.data, 8), &bytes) && bytes.size == 6 &&
                     room[0] == FORMAT;
    if (is_sealed)
        memcpy(head, room, 6);
    return is_sealed;
}

bool seal_is_current(struct slice sealed)
{
    unsigned char head[6];
    struct seal_thread *thread = this_thread();
    return thread->keys && decode_name(sealed, head) &&
           memcmp(head + 1, thread->keys->keys[0].name, NAME_BYTES) == 0;
}

bool seal_has_key(struct slice sealed)
{
    unsigned char head[6];
    return decode_name(sealed, head) && find_key(this_thread()->keys, head + 1);
}

bool seal_name(struct slice sealed, char name[SEAL_NAME_SIZE])
{
    unsigned char head[6];
    if (!decode_name(sealed, head))
        return false;
    hex_write(name, head + 1, NAME_BYTES);
    name[SEAL_NAME_SIZE - 1] = '\0';
    return true;
}

/* ---- digests ---- */

void seal_digest(struct slice text, unsigned char digest[SEAL_DIGEST_BYTES])
{
    static const char label[] = "duepost fingerprints";
    const struct seal_keys *keys = this_thread()->keys;
    unsigned char key[SHA256_BYTES];
    unsigned size = 0;
    assert(keys);
    bool ok = HMAC(EVP_sha256(), keys->keys[keys->count - 1].bytes, SEAL_KEY_BYTES,
                   (const unsigned char *)label, sizeof label - 1, key, &size) &&
              HMAC(EVP_sha256(), key, SHA256_BYTES, (const unsigned char *)(text.data ? text.data : ""),
                   text.size, digest, &size);
    assert(ok);
    OPENSSL_cleanse(key, sizeof key);
}
