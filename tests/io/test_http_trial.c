/* The trial must refuse a libmicrohttpd whose version differs from the one for which the gate was made.
 * MHD_get_version is replaced here, so that the gate sees a version other than that of the library that is
 * loaded. */
#include "io/http/server.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "support/suite.h"

static const char *version; /* NULL: the true version */

static const char *true_version(void)
{
    const char *(*get)(void);
    *(void **)&get = dlsym(RTLD_NEXT, "MHD_get_version");
    return get();
}

const char *MHD_get_version(void)
{
    return version ? version : true_version();
}

START_TEST(gate_holds_with_the_libmicrohttpd_of_this_host)
{
    struct problem problem = {""};
    ck_assert_msg(http_trial_run(&problem) == STATUS_OK, "%s", problem.text);
    ck_assert_msg(http_trial_run(&problem) == STATUS_OK, "%s", problem.text);
}
END_TEST

START_TEST(library_that_parses_like_another_version_is_refused)
{
    struct problem problem = {""};
    version = strncmp(true_version(), "0.9.", 4) == 0 ? "1.0.1" : "0.9.75";
    ck_assert_int_eq(http_trial_run(&problem), STATUS_FAILED);
    ck_assert_ptr_nonnull(strstr(problem.text, version));
}
END_TEST

static bool is_fatal; /* libcurl ends the process */

/* Replaces libcurl's function. */
CURLMcode curl_multi_remove_handle(CURLM *multi, CURL *easy)
{
    static CURLMcode (*remove_handle)(CURLM *, CURL *);
    if (is_fatal)
        raise(SIGKILL);
    *(void **)&remove_handle = dlsym(RTLD_NEXT, "curl_multi_remove_handle");
    return remove_handle(multi, easy);
}

START_TEST(the_libcurl_of_this_host_reads_the_answers)
{
    struct problem problem = {""};
    ck_assert_msg(http_trial_run_client(&problem) == STATUS_OK, "%s", problem.text);
}
END_TEST

START_TEST(a_libcurl_that_ends_the_process_is_told)
{
    struct problem problem = {""};
    is_fatal = true;
    ck_assert_int_eq(http_trial_run_client(&problem), STATUS_FAILED);
    ck_assert_ptr_nonnull(strstr(problem.text, "a fold before the first header"));
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("http_trial");
    TCase *tc = tcase_create("trial");
    tcase_add_test(tc, gate_holds_with_the_libmicrohttpd_of_this_host);
    tcase_add_test(tc, library_that_parses_like_another_version_is_refused);
    tcase_add_test(tc, the_libcurl_of_this_host_reads_the_answers);
    tcase_add_test(tc, a_libcurl_that_ends_the_process_is_told);
    suite_add_tcase(s, tc);
    return s;
}
