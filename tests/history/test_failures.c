/* The history while its database is unavailable, slow, full, damaged or of another version. Confirmed jobs
 * stay, calls are answered in time, and the history recovers by itself. */
#include <libpq-fe.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system.h"
#include "history/history_calls.h"
#include "history/sql.h"
#include "support/mongo_server.h"
#include "support/postgres_server.h"
#include "support/suite.h"

#define DAY_MS INT64_C(86400000)

static struct postgres_server *server;
static struct mongo_server *mongo;
static char folder[] = "/tmp/duepost-history-XXXXXX";
static char path[64], url[POSTGRES_URL_SIZE], database[32];
static struct history_options options = {.max_age_ms = 7 * DAY_MS, .max_bytes = INT64_C(1) << 30};
static struct history_world world;
static struct ended_job job;
static struct history_row row;

static void start_server(void)
{
    server = postgres_server_new();
}

static void stop_server(void)
{
    postgres_server_free(server);
}

static void make_place(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/history.sqlite", folder);
    options.sqlite_path = path;
    int64_t now_ms = clock_wall_ms();
    job = (struct ended_job){"delivered", now_ms, now_ms - 1000, "", "1 1700000000000 34 200\n"};
}

static void remove_place(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

static void make_database(const char *user)
{
    char sql[128];
    snprintf(database, sizeof database, "test_%d", (int)getpid());
    snprintf(sql, sizeof sql, "CREATE DATABASE %s", database);
    postgres_server_run(server, "postgres", sql);
    postgres_server_url(server, user, database, url);
    options.sqlite_path = NULL;
    options.url = url;
}

/* Appends the job again and again until the database accepts it. */
static void await_append(const char *id)
{
    history_world_await(&world, true);
    int64_t deadline_us = clock_boot_us() + INT64_C(60000000);
    while (append_job(&world, id, &job) != STATUS_OK) {
        ck_assert_msg(clock_boot_us() < deadline_us, "%s", last_why());
        usleep(50000);
    }
    ck_assert_msg(find_job(&world, id, &row), "%s", last_why());
}

static void check_why(const char *part)
{
    ck_assert_msg(strstr(last_why(), part) != NULL, "'%s' lacks '%s'", last_why(), part);
}

/* Checks that the answer of a read does not have the words of the database, which clients must not see. */
static void check_that_reads_hide(const char *words)
{
    ck_assert(!find_job(&world, "orders/1", &row));
    ck_assert_msg(strstr(last_why(), "the log has the reason") != NULL, "%s", last_why());
    ck_assert_msg(strstr(last_why(), words) == NULL, "'%s' has '%s'", last_why(), words);
}

/* ---- SQLite ---- */

START_TEST(a_folder_that_is_missing)
{
    char inner[80], file[128];
    snprintf(inner, sizeof inner, "%s/later", folder);
    snprintf(file, sizeof file, "%s/history.sqlite", inner);
    options.sqlite_path = file;
    history_world_open(&world, &options);
    history_world_await(&world, false);
    ck_assert_int_eq(append_job(&world, "orders/1", &job), STATUS_UNAVAILABLE);
    check_why("No such file");
    ck_assert_int_eq(mkdir(inner, 0700), 0);
    await_append("orders/1");
    history_world_close(&world);
}
END_TEST

START_TEST(a_file_that_is_no_database_stays_as_it_is)
{
    char text[32] = "";
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 1000; i++)
        fprintf(file, "precious text\n");
    ck_assert_int_eq(fclose(file), 0);
    history_world_open(&world, &options);
    history_world_await(&world, false);
    ck_assert_int_eq(append_job(&world, "orders/1", &job), STATUS_UNAVAILABLE);
    check_why("not a database");
    check_that_reads_hide(folder);
    history_world_close(&world);
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(text, sizeof text, file));
    ck_assert_str_eq(text, "precious text\n");
    fclose(file);
}
END_TEST

START_TEST(a_file_that_is_removed_is_made_again)
{
    history_world_open(&world, &options);
    await_append("orders/1");
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(append_job(&world, "orders/2", &job), STATUS_UNAVAILABLE);
    check_why("removed");
    await_append("orders/2");
    ck_assert(!find_job(&world, "orders/1", &row));
    history_world_close(&world);
}
END_TEST

START_TEST(a_full_disk)
{
    static char body[4000], members[4100];
    struct rlimit limit = {1 << 20, RLIM_INFINITY};
    char id[32];
    int i = 0;
    memset(body, 'x', sizeof body - 1);
    snprintf(members, sizeof members, "\"body\":\"%s\"", body);
    job.members = members;
    signal(SIGXFSZ, SIG_IGN);
    history_world_open(&world, &options);
    await_append("orders/first");
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    static const char *ids[APPEND_MAX];
    static struct ended_job jobs[APPEND_MAX];
    static char texts[APPEND_MAX][32];
    enum status status;
    do {
        for (size_t n = 0; n < APPEND_MAX; n++) {
            snprintf(texts[n], sizeof texts[n], "orders/%d", i++);
            ids[n] = texts[n];
            jobs[n] = job;
        }
        status = append_jobs(&world, ids, jobs, APPEND_MAX);
    } while (status == STATUS_OK && i < 2000);
    ck_assert_int_eq(status, STATUS_UNAVAILABLE);
    limit.rlim_cur = RLIM_INFINITY;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    await_append("orders/last");
    ck_assert(find_job(&world, "orders/first", &row));
    snprintf(id, sizeof id, "orders/%d", i - 1);
    ck_assert(!find_job(&world, id, &row)); /* an append adds all its jobs or none */
    history_world_close(&world);
}
END_TEST

START_TEST(tables_of_a_later_version)
{
    sqlite3 *db = NULL;
    history_world_open(&world, &options);
    await_append("orders/1");
    history_world_close(&world);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(
        sqlite3_exec(db, "UPDATE duepost_meta SET value = 99 WHERE name = 'version'", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    history_world_open(&world, &options);
    history_world_await(&world, false);
    ck_assert_int_eq(append_job(&world, "orders/2", &job), STATUS_UNAVAILABLE);
    check_why("version 99");
    history_world_close(&world);
}
END_TEST

START_TEST(a_read_past_its_deadline_leaves_the_database_open)
{
    static const struct sql slow = {
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<100000) SELECT count(*) FROM n",
        NULL, 0};
    atomic_bool is_stopping = false;
    struct problem problem;
    int64_t number = 0;
    struct driver *driver = sqlite_new(path);
    const struct sql_kind *sql = ((struct sql_driver *)driver)->sql;
    driver->is_stopping = &is_stopping;
    driver->deadline_us = INT64_MAX;
    ck_assert_int_eq(driver->kind->open(driver, &problem), STATUS_OK);
    driver->deadline_us = 0;
    ck_assert_int_eq(sql->query(driver, &slow, sql_take_number, &number, &problem), STATUS_FULL);
    ck_assert_ptr_nonnull(strstr(problem.text, "ask for a topic or for a shorter time"));
    driver->deadline_us = INT64_MAX;
    ck_assert_int_eq(sql->query(driver, &slow, sql_take_number, &number, &problem), STATUS_OK);
    ck_assert_int_eq(number, 100000);
    driver->kind->close(driver);
    driver->kind->free(driver);
}
END_TEST

START_TEST(another_program_that_writes_is_awaited)
{
    sqlite3 *db = NULL;
    history_world_open(&world, &options);
    await_append("orders/1");
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    pid_t pid = fork();
    if (pid == 0) { /* the lock belongs to the parent; this process only waits */
        usleep(300000);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert(find_job(&world, "orders/1", &row)); /* reads still work */
    ck_assert_int_eq(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    await_append("orders/2");
    history_world_close(&world);
}
END_TEST

/* Appends jobs until it is killed, and writes the number of each confirmed one. */
static void append_forever(int out)
{
    history_world_open(&world, &options);
    for (int i = 0;; i++) {
        char id[32];
        snprintf(id, sizeof id, "orders/%d", i);
        if (append_job(&world, id, &job) == STATUS_OK && write(out, &i, sizeof i) != sizeof i)
            _exit(1);
    }
}

START_TEST(confirmed_jobs_survive_a_kill)
{
    int ends[2], last = -1;
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        append_forever(ends[1]);
    close(ends[1]);
    while (last < 2)
        ck_assert_int_eq(read(ends[0], &last, sizeof last), sizeof last);
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    history_world_open(&world, &options);
    for (; last >= 0; last--) {
        char id[32];
        snprintf(id, sizeof id, "orders/%d", last);
        ck_assert_msg(find_job(&world, id, &row), "%s", id);
    }
    history_world_close(&world);
}
END_TEST

/* ---- PostgreSQL ---- */

START_TEST(a_server_that_crashes)
{
    make_database("postgres");
    history_world_open(&world, &options);
    await_append("orders/1");
    postgres_server_kill(server);
    ck_assert_int_eq(append_job(&world, "orders/2", &job), STATUS_UNAVAILABLE);
    history_world_await(&world, false);
    ck_assert(!find_job(&world, "orders/1", &row));
    postgres_server_start(server);
    await_append("orders/2");
    ck_assert(find_job(&world, "orders/1", &row));
    history_world_close(&world);
}
END_TEST

START_TEST(a_server_that_hangs)
{
    int64_t begin_us = clock_boot_us();
    make_database("postgres");
    history_world_open(&world, &options);
    await_append("orders/1");
    postgres_server_freeze(server);
    ck_assert(!find_job(&world, "orders/1", &row)); /* the answer comes in time */
    ck_assert_int_ge(clock_boot_us() - begin_us, 1);
    history_world_close(&world); /* returns at once, although the server hangs */
    postgres_server_thaw(server);
    history_world_open(&world, &options);
    await_append("orders/2");
    ck_assert(find_job(&world, "orders/1", &row));
    history_world_close(&world);
}
END_TEST

/* In a child: holds a lock on the tables for some seconds, as a slow server would. */
static pid_t hold_tables(int seconds)
{
    char text[128], admin[POSTGRES_URL_SIZE];
    int ends[2];
    char ready;
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        postgres_server_url(server, "postgres", database, admin);
        PGconn *connection = PQconnectdb(admin);
        PQclear(PQexec(connection, "BEGIN; LOCK TABLE duepost_jobs IN ACCESS EXCLUSIVE MODE"));
        if (write(ends[1], "", 1) != 1)
            _exit(1);
        snprintf(text, sizeof text, "SELECT pg_sleep(%d)", seconds);
        PQclear(PQexec(connection, text));
        PQclear(PQexec(connection, "COMMIT"));
        _exit(0);
    }
    ck_assert_int_eq(read(ends[0], &ready, 1), 1);
    close(ends[0]);
    close(ends[1]);
    return pid;
}

START_TEST(a_server_that_takes_five_seconds)
{
    make_database("postgres");
    history_world_open(&world, &options);
    await_append("orders/1");
    pid_t pid = hold_tables(5);
    ck_assert_msg(append_job(&world, "orders/2", &job) == STATUS_OK, "%s", last_why());
    ck_assert(find_job(&world, "orders/2", &row));
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    history_world_close(&world);
}
END_TEST

START_TEST(a_server_that_refuses_writes)
{
    char sql[128];
    make_database("postgres");
    history_world_open(&world, &options);
    await_append("orders/1");
    snprintf(sql, sizeof sql, "ALTER DATABASE %s SET default_transaction_read_only = on", database);
    postgres_server_run(server, "postgres", sql);
    snprintf(sql, sizeof sql,
             "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '%s'", database);
    postgres_server_run(server, "postgres", sql);
    ck_assert_int_eq(append_job(&world, "orders/2", &job), STATUS_UNAVAILABLE);
    history_world_await(&world, true); /* the database can be read */
    ck_assert_int_eq(append_job(&world, "orders/2", &job), STATUS_UNAVAILABLE);
    check_why("read-only");
    snprintf(sql, sizeof sql, "ALTER DATABASE %s RESET default_transaction_read_only", database);
    postgres_server_run(server, "postgres", sql);
    await_append("orders/2");
    history_world_close(&world);
}
END_TEST

static void write_password(const char *file, const char *password)
{
    FILE *out = fopen(file, "w");
    ck_assert_ptr_nonnull(out);
    ck_assert_int_eq(fchmod(fileno(out), 0600), 0);
    fprintf(out, "*:*:*:keeper:%s\n", password);
    ck_assert_int_eq(fclose(out), 0);
}

START_TEST(credentials_that_change)
{
    char sql[256], file[80];
    snprintf(file, sizeof file, "%s/passwords", folder);
    make_database("keeper");
    snprintf(url + strlen(url), sizeof url - strlen(url), "&passfile=%s", file);
    postgres_server_run(server, "postgres", "CREATE ROLE keeper LOGIN PASSWORD 'first-secret'");
    history_world_open(&world, &options);
    history_world_await(&world, false);
    write_password(file, "first-secret");
    ck_assert_int_eq(append_job(&world, "orders/0", &job), STATUS_UNAVAILABLE);
    snprintf(sql, sizeof sql, "GRANT CREATE, USAGE ON SCHEMA public TO keeper");
    postgres_server_run(server, database, sql); /* without this right the tables cannot be created */
    await_append("orders/1");
    postgres_server_run(server, database,
                        "REVOKE CREATE ON SCHEMA public FROM keeper"); /* once the tables exist, the history
                                                                          works without this right */
    postgres_server_run(server, "postgres", "ALTER ROLE keeper PASSWORD 'other-secret'");
    snprintf(sql, sizeof sql,
             "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '%s'", database);
    postgres_server_run(server, "postgres", sql);
    ck_assert_int_eq(append_job(&world, "orders/2", &job), STATUS_UNAVAILABLE);
    history_world_await(&world, false);
    ck_assert_int_eq(append_job(&world, "orders/2", &job), STATUS_UNAVAILABLE);
    ck_assert_ptr_null(strstr(last_why(), "secret"));
    write_password(file, "other-secret");
    await_append("orders/2");
    ck_assert(find_job(&world, "orders/1", &row));
    history_world_close(&world);
}
END_TEST

START_TEST(urls_are_checked_without_showing_them)
{
    struct problem problem;
    bool has_password;
    ck_assert_int_eq(
        history_url_check("postgresql://u:hidden@h/db?sslmode=verify-full", &has_password, &problem),
        STATUS_OK);
    ck_assert(has_password);
    ck_assert_int_eq(history_url_check("postgresql://u@h:5432,i:5433/db?target_session_attrs=read-write",
                                       &has_password, &problem),
                     STATUS_OK);
    ck_assert(!has_password);
    ck_assert_int_eq(history_url_check("postgresql://u:hid%zzden@h/db", &has_password, &problem),
                     STATUS_INVALID);
    ck_assert_ptr_null(strstr(problem.text, "hid%"));
    ck_assert_int_eq(history_url_check("postgresql://h/db?nonsense=1", &has_password, &problem),
                     STATUS_INVALID);
}
END_TEST

/* ---- MongoDB ---- */

static void start_mongo(void)
{
    mongo = mongo_server_new();
}

static void stop_mongo(void)
{
    mongo_server_free(mongo);
}

static void make_mongo_database(void)
{
    snprintf(database, sizeof database, "test_%d", (int)getpid());
    mongo_server_url(mongo, database, url);
    options.sqlite_path = NULL;
    options.url = url;
}

START_TEST(a_mongo_server_that_hangs)
{
    make_mongo_database();
    history_world_open(&world, &options);
    await_append("orders/1");
    mongo_server_freeze(mongo);
    ck_assert(!find_job(&world, "orders/1", &row)); /* the answer comes in time */
    history_world_close(&world);
    history_world_open(&world, &options); /* the kernel accepts the connection, and nothing answers */
    usleep(100000);
    int64_t begin_us = clock_boot_us();
    history_world_close(&world); /* at once, although the thread waits for the server */
    ck_assert_int_lt(clock_boot_us() - begin_us, 3000000);
    mongo_server_thaw(mongo);
    history_world_open(&world, &options);
    await_append("orders/2");
    ck_assert(find_job(&world, "orders/1", &row));
    history_world_close(&world);
}
END_TEST

START_TEST(a_mongo_server_that_takes_five_seconds)
{
    make_mongo_database();
    history_world_open(&world, &options);
    await_append("orders/1");
    mongo_server_freeze(mongo);
    pid_t pid = fork();
    if (pid == 0) {
        sleep(5);
        mongo_server_thaw(mongo);
        _exit(0);
    }
    ck_assert_msg(append_job(&world, "orders/2", &job) == STATUS_OK, "%s", last_why());
    ck_assert(find_job(&world, "orders/2", &row));
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    history_world_close(&world);
}
END_TEST

START_TEST(a_mongo_server_that_crashes)
{
    enum { JOBS = 20 };
    char id[32];
    make_mongo_database();
    history_world_open(&world, &options);
    history_world_await(&world, true);
    for (int i = 0; i < JOBS; i++) {
        snprintf(id, sizeof id, "orders/%d", i);
        ck_assert_msg(append_job(&world, id, &job) == STATUS_OK, "%s", last_why());
    }
    mongo_server_kill(mongo);
    ck_assert_int_eq(append_job(&world, "orders/last", &job), STATUS_UNAVAILABLE);
    history_world_await(&world, false);
    check_that_reads_hide("127.0.0.1");
    mongo_server_start(mongo);
    await_append("orders/last");
    for (int i = 0; i < JOBS; i++) {
        snprintf(id, sizeof id, "orders/%d", i);
        ck_assert_msg(find_job(&world, id, &row), "%s", id);
    }
    history_world_close(&world);
}
END_TEST

/* A job that is larger than a document of MongoDB is dropped, and holds up no other. */
START_TEST(a_job_that_is_too_large_for_mongo)
{
    enum { TEXT = 9 * 1024 * 1024, LINE = 60000 };
    struct buffer text, record;
    char *answer = malloc(TEXT);
    ck_assert_ptr_nonnull(answer);
    make_mongo_database();
    history_world_open(&world, &options);
    history_world_await(&world, true);
    memset(answer, 'x', TEXT);
    buffer_init(&text, 4 * TEXT);
    buffer_init(&record, 2 * TEXT);
    buffer_printf(&record, "{\"createdAt\":%lld,\"url\":\"https://shop.example/hook\",\"body\":\"",
                  (long long)job.created_ms);
    buffer_append(&record, slice_from(answer, TEXT));
    buffer_append(&record, SLICE("\"}"));
    buffer_printf(&text, "delivered %lld 0 %zu ", (long long)job.ended_ms, record.size);
    buffer_append(&text, buffer_slice(&record));
    for (int i = 1; i <= TEXT / LINE; i++) {
        buffer_printf(&text, "%d 1700000000000 34 503 \"", i);
        buffer_append(&text, slice_from(answer, LINE));
        buffer_append(&text, SLICE("\"\n"));
    }
    ck_assert_msg(append_text(&world, "orders/large", buffer_slice(&text)) == STATUS_OK, "%s", last_why());
    ck_assert(!find_job(&world, "orders/large", &row));
    await_append("orders/1");
    buffer_fini(&text);
    buffer_fini(&record);
    free(answer);
    history_world_close(&world);
}
END_TEST

START_TEST(a_host_of_mongo_that_is_not_there)
{
    options.sqlite_path = NULL;
    options.url = "mongodb://keeper:hid%40den@127.0.0.1:1/history?authSource=admin";
    history_world_open(&world, &options);
    history_world_await(&world, false);
    ck_assert_int_eq(append_job(&world, "orders/1", &job), STATUS_UNAVAILABLE);
    check_why("127.0.0.1:1");
    ck_assert_ptr_null(strstr(last_why(), "hid"));
    history_world_close(&world);
}
END_TEST

START_TEST(mongo_urls_are_checked_without_showing_them)
{
    static const struct {
        const char *url;
        bool is_valid, has_password;
    } cases[] = {
        {"mongodb://u:hidden@h/db?tls=true&tlsCAFile=/x", true, true},
        {"mongodb://u@h:27017,i:27018/db?replicaSet=rs&authMechanism=MONGODB-X509", true, false},
        {"mongodb://h/db", true, false},
        {"mongodb://h/db?tls=true&tlsCertificateKeyFile=/x&tlsCertificateKeyFilePassword=hidden", false,
         false},
        {"mongodb://u:x@h/db?authMechanism=MONGODB-AWS&authMechanismProperties=AWS_SESSION_TOKEN:hidden",
         false, true},
        {"mongodb+srv://u:hidden@h.example.com/db", true, true},
        {"mongodb://u:hidden@h", false, true},
        {"mongodb://u:hidden@h/", false, true},
        {"mongodb://u:hid%zzden@h/db", false, false},
        {"mongodb://u:hidden@/db", false, false},
        {"mongodb:hidden", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct problem problem = {.text = ""};
        bool has_password;
        enum status status = history_url_check(cases[i].url, &has_password, &problem);
        ck_assert_msg(status == (cases[i].is_valid ? STATUS_OK : STATUS_INVALID), "%s", cases[i].url);
        ck_assert_msg(has_password == cases[i].has_password, "%s", cases[i].url);
        ck_assert_ptr_null(strstr(problem.text, "hid"));
    }
}
END_TEST

static TCase *mongo_cases(void)
{
    TCase *made = tcase_create("mongodb");
    tcase_add_unchecked_fixture(made, start_mongo, stop_mongo);
    tcase_add_checked_fixture(made, make_place, remove_place);
    tcase_set_timeout(made, 90);
    tcase_add_test(made, mongo_urls_are_checked_without_showing_them);
    tcase_add_test(made, a_host_of_mongo_that_is_not_there);
    tcase_add_test(made, a_job_that_is_too_large_for_mongo);
    tcase_add_test(made, a_mongo_server_that_takes_five_seconds);
    tcase_add_test(made, a_mongo_server_that_hangs);
    tcase_add_test(made, a_mongo_server_that_crashes);
    return made;
}

Suite *suite(void)
{
    Suite *made = suite_create("history failures");
    TCase *sqlite = tcase_create("sqlite"), *postgres = tcase_create("postgres");
    tcase_add_checked_fixture(sqlite, make_place, remove_place);
    tcase_set_timeout(sqlite, 60);
    tcase_add_test(sqlite, a_folder_that_is_missing);
    tcase_add_test(sqlite, a_file_that_is_no_database_stays_as_it_is);
    tcase_add_test(sqlite, a_file_that_is_removed_is_made_again);
    tcase_add_test(sqlite, a_full_disk);
    tcase_add_test(sqlite, tables_of_a_later_version);
    tcase_add_test(sqlite, another_program_that_writes_is_awaited);
    tcase_add_test(sqlite, a_read_past_its_deadline_leaves_the_database_open);
    tcase_add_test(sqlite, confirmed_jobs_survive_a_kill);
    suite_add_tcase(made, sqlite);
    tcase_add_unchecked_fixture(postgres, start_server, stop_server);
    tcase_add_checked_fixture(postgres, make_place, remove_place);
    tcase_set_timeout(postgres, 90);
    tcase_add_test(postgres, urls_are_checked_without_showing_them);
    tcase_add_test(postgres, a_server_that_takes_five_seconds);
    tcase_add_test(postgres, a_server_that_refuses_writes);
    tcase_add_test(postgres, credentials_that_change);
    tcase_add_test(postgres, a_server_that_hangs);
    tcase_add_test(postgres, a_server_that_crashes);
    suite_add_tcase(made, postgres);
    if (mongo_server_is_there())
        suite_add_tcase(made, mongo_cases());
    return made;
}
