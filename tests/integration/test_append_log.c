/* Tests that torn ends of append-only files, as after a power cut, are removed. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "server/redis/redis_private.h"
#include "support/suite.h"

#define SET_ONE "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n1\r\n"
#define MULTI   "*1\r\n$5\r\nMULTI\r\n"
#define EXEC    "*1\r\n$4\r\nEXEC\r\n"
#define FAKE    "*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$14\r\n" EXEC "\r\n"

static char folder[] = "/tmp/duepost-append-XXXXXX";
static int dir_fd;

static void set_up(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    dir_fd = open(folder, O_RDONLY | O_DIRECTORY);
    ck_assert_int_ge(dir_fd, 0);
    ck_assert_int_eq(mkdirat(dir_fd, "appendonlydir", 0700), 0);
}

static void tear_down(void)
{
    unlinkat(dir_fd, "appendonlydir/appendonly.aof.manifest", 0);
    unlinkat(dir_fd, "appendonlydir/appendonly.aof.1.base.rdb", 0);
    unlinkat(dir_fd, "appendonlydir/appendonly.aof.1.incr.aof", 0);
    unlinkat(dir_fd, "appendonlydir/appendonly.aof.2.incr.aof", 0);
    unlinkat(dir_fd, "appendonlydir", AT_REMOVEDIR);
    close(dir_fd);
    ck_assert_int_eq(rmdir(folder), 0);
    memcpy(folder + sizeof folder - 1 - strlen("XXXXXX"), "XXXXXX", strlen("XXXXXX"));
}

static void write_one(const char *name, struct slice bytes)
{
    char path[256];
    snprintf(path, sizeof path, "%s/appendonlydir/%s", folder, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes.data, 1, bytes.size, file), bytes.size);
    ck_assert_int_eq(fclose(file), 0);
}

#define MANIFEST                                                                                             \
    "file appendonly.aof.2.base.rdb seq 2 type b\n"                                                          \
    "file appendonly.aof.1.incr.aof seq 1 type h\n"                                                          \
    "file appendonly.aof.2.incr.aof seq 2 type i"

static void write_manifest(void)
{
    write_one("appendonly.aof.manifest", SLICE(MANIFEST "\n"));
}

static int64_t size_left(void)
{
    struct stat file;
    ck_assert_int_eq(fstatat(dir_fd, "appendonlydir/appendonly.aof.2.incr.aof", &file, 0), 0);
    return file.st_size;
}

static const struct {
    const char *kept, *cut;
} ends[] = {
    {"", ""},
    {SET_ONE MULTI SET_ONE EXEC, ""},
    {SET_ONE, MULTI},
    {SET_ONE, MULTI SET_ONE},
    {SET_ONE, MULTI SET_ONE "*3\r\n$3\r\nSE"},
    {SET_ONE, MULTI SET_ONE "*1\r\n$4\r\nEXEC\r"},
    {SET_ONE, MULTI FAKE},
    {"", MULTI SET_ONE SET_ONE},
    {SET_ONE MULTI SET_ONE EXEC, "*"},
    {SET_ONE MULTI SET_ONE EXEC SET_ONE, "*3\r\n$3\r\nSET\r\n$1"},
    {"#TS:1700000000\r\n" SET_ONE, "#TS:17"},
    {"#TS:1700000000\r\n" SET_ONE "#TS:1700000001\r\n", MULTI "#TS:1700000002\r\n" SET_ONE},
    /* The transaction was torn at an earlier start, so its first command is executed with the next EXEC. */
    {MULTI SET_ONE MULTI SET_ONE EXEC SET_ONE, ""},
    /* The file is damaged before its end. It stays as it is, because redis-server reports such damage. */
    {SET_ONE "*3\r\nSET" SET_ONE, ""},
    {SET_ONE "*one\r\n", ""},
    {SET_ONE "\n\n\n\n", ""},
};

START_TEST(the_last_whole_change_is_the_end)
{
    struct buffer text;
    buffer_init(&text, 4096);
    buffer_append(&text, slice_of(ends[_i].kept));
    buffer_append(&text, slice_of(ends[_i].cut));
    write_manifest();
    write_one("appendonly.aof.1.incr.aof",
              SLICE(MULTI)); /* a file from before the last rewrite; it is not read */
    write_one("appendonly.aof.2.incr.aof", buffer_slice(&text));
    ck_assert_int_eq(append_log_cut(dir_fd), (int64_t)strlen(ends[_i].cut));
    ck_assert_int_eq(size_left(), (int64_t)strlen(ends[_i].kept));
    ck_assert_int_eq(append_log_cut(dir_fd), 0);
    buffer_fini(&text);
}
END_TEST

enum { ZEROS = 9 };

/* A file system that has written the size of the file before its data leaves zeros. */
START_TEST(zeros_at_the_end_are_cut)
{
    static const int counts[ZEROS] = {1, 2, 3, 31, 32, 33, 512, 4095, 4096};
    const int zeros = counts[_i];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (strstr(ends[i].kept, "SET" SET_ONE) || strstr(ends[i].kept, "*one") ||
            strstr(ends[i].kept, "\n\n\n"))
            continue; /* damaged before its end */
        struct buffer text;
        buffer_init(&text, 16384);
        buffer_append(&text, slice_of(ends[i].kept));
        buffer_append(&text, slice_of(ends[i].cut));
        for (int k = 0; k < zeros; k++)
            buffer_append_byte(&text, '\0');
        write_manifest();
        write_one("appendonly.aof.2.incr.aof", buffer_slice(&text));
        ck_assert_int_eq(append_log_cut(dir_fd), (int64_t)strlen(ends[i].cut) + zeros);
        ck_assert_int_eq(size_left(), (int64_t)strlen(ends[i].kept));
        buffer_fini(&text);
    }
}
END_TEST

START_TEST(many_zeros_and_zeros_in_the_middle_are_left_to_redis)
{
    struct buffer text;
    buffer_init(&text, 16384);
    buffer_append(&text, SLICE(SET_ONE));
    for (int k = 0; k < (_i ? 4097 : 512); k++)
        buffer_append_byte(&text, '\0');
    if (_i == 0)
        buffer_append(&text, SLICE(SET_ONE));
    write_manifest();
    write_one("appendonly.aof.2.incr.aof", buffer_slice(&text));
    ck_assert_int_eq(append_log_cut(dir_fd), 0);
    ck_assert_int_eq(size_left(), (int64_t)text.size);
    buffer_fini(&text);
}
END_TEST

START_TEST(files_without_a_manifest_are_found)
{
    ck_assert_int_eq(append_log_find(dir_fd), APPEND_LOG_NONE);
    /* The first start of redis-server ended before it wrote the manifest. */
    write_one("appendonly.aof.1.base.rdb", SLICE("REDIS0010 and some bytes more"));
    write_one("appendonly.aof.2.incr.aof", SLICE(""));
    ck_assert_int_eq(append_log_find(dir_fd), APPEND_LOG_NONE);
    write_one("appendonly.aof.2.incr.aof", SLICE(SET_ONE));
    ck_assert_int_eq(append_log_find(dir_fd), APPEND_LOG_WITHOUT_MANIFEST);
    write_manifest();
    ck_assert_int_eq(append_log_find(dir_fd), APPEND_LOG_WHOLE);
}
END_TEST

/* The file is read in parts. Some commands cross the border of two parts, and some are larger than a part. */
START_TEST(a_large_file_is_cut_at_the_same_place)
{
    enum { COMMANDS = 300 };
    struct buffer text, value;
    buffer_init(&text, 64 << 20);
    buffer_init(&value, 4 << 20);
    for (int i = 0; i < COMMANDS; i++) {
        buffer_clear(&value);
        for (int j = 0; j < (i % 100 == 99 ? 3000000 : i * 100); j++)
            buffer_append_byte(&value, "EXEC\r\n*1$"[j % 9]);
        buffer_printf(&text, MULTI SET_ONE "*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$%zu\r\n", value.size);
        buffer_append(&text, buffer_slice(&value));
        buffer_append(&text, SLICE("\r\n" EXEC));
    }
    size_t whole = text.size;
    buffer_printf(&text, MULTI SET_ONE "*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$%zu\r\n", value.size);
    buffer_append(&text, buffer_slice(&value));
    write_manifest();
    write_one("appendonly.aof.2.incr.aof", buffer_slice(&text));
    ck_assert_int_eq(append_log_cut(dir_fd), (int64_t)(text.size - whole));
    ck_assert_int_eq(size_left(), (int64_t)whole);
    buffer_fini(&text);
    buffer_fini(&value);
}
END_TEST

static const struct {
    const char *text;
    int64_t cut; /* bytes that are cut: the torn MULTI if the manifest names the file, else 0 */
} manifests[] = {
    {MANIFEST "\n", sizeof MULTI - 1},
    /* Redis 8, while it runs and after a stop */
    {MANIFEST " startoffset 0\n", sizeof MULTI - 1},
    {MANIFEST " startoffset 0 endoffset 14\n", sizeof MULTI - 1},
    {MANIFEST "x\n", 0},
    {MANIFEST "x startoffset 0\n", 0},
    {"file appendonly.aof.2.incr.aof seq 2 type h startoffset 0\n", 0},
};

START_TEST(the_manifest_of_each_version_is_read)
{
    write_one("appendonly.aof.manifest", slice_of(manifests[_i].text));
    write_one("appendonly.aof.2.incr.aof", SLICE(SET_ONE MULTI));
    ck_assert_int_eq(append_log_cut(dir_fd), manifests[_i].cut);
}
END_TEST

START_TEST(a_file_that_is_missing_is_left_to_redis)
{
    ck_assert_int_eq(append_log_cut(dir_fd), 0);
    write_one("appendonly.aof.manifest", SLICE("file ../x seq 1 type i\nfile"));
    ck_assert_int_eq(append_log_cut(dir_fd), 0);
    write_manifest();
    ck_assert_int_eq(append_log_cut(dir_fd), 0);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("append log");
    TCase *tcase = tcase_create("append log");
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, the_last_whole_change_is_the_end, 0, sizeof ends / sizeof *ends);
    tcase_add_test(tcase, a_large_file_is_cut_at_the_same_place);
    tcase_add_loop_test(tcase, zeros_at_the_end_are_cut, 0, ZEROS);
    tcase_add_loop_test(tcase, many_zeros_and_zeros_in_the_middle_are_left_to_redis, 0, 2);
    tcase_add_test(tcase, files_without_a_manifest_are_found);
    tcase_add_loop_test(tcase, the_manifest_of_each_version_is_read, 0, sizeof manifests / sizeof *manifests);
    tcase_add_test(tcase, a_file_that_is_missing_is_left_to_redis);
    suite_add_tcase(suite, tcase);
    return suite;
}
