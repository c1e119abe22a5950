/* listen.c - duepost listen TOPIC --to URL: a worker that POSTs the jobs of a topic to a url that only this
 * host can reach, such as a program under development.
 *
 * The jobs come through leases, as those of duepost work. A topic whose jobs are POSTed by the server has no
 * leases: only with --take, the command sets delivery=pull until it ends, because its receiver gets no jobs
 * meanwhile. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_writer.h"
#include "cli/commands.h"
#include "cli/worker/work.h"
#include "job/job_id.h"
#include "job/target/url.h"

enum { PATCH_MAX = 4096, TIMEOUT_DEFAULT_S = 30 };
#define TIMEOUT_MAX_US (INT64_C(3600) * 1000 * 1000)

struct listen {
    struct call *call;
    struct work_settings work;
    struct post_settings post;
    struct buffer target, end_url;
    /* A patch that restores the topic's own settings. Empty: the command has changed none. */
    struct buffer before;
};

/* ---- a topic whose jobs the server POSTs ---- */

/* The settings that exclude delivery=pull, and their values while the jobs are taken. */
static const struct {
    const char *name, *taken;
} taken_settings[] = {{"delivery", "\"pull\""}, {"defer", "false"}, {"batch", "null"}};

static bool patch_topic(struct listen *listen, struct buffer *patch, struct problem *problem)
{
    struct buffer answer;
    buffer_init(&answer, REMOTE_ANSWER_MAX);
    enum status status = remote_ask(listen->call->remote, "PATCH", buffer_text(&listen->target),
                                    buffer_text(patch), &answer, problem);
    buffer_fini(&answer);
    return status == STATUS_OK;
}

/* Lets this command lease the jobs of the topic, if the user has agreed. Returns false after an error. */
static bool take_topic(struct listen *listen, const json_t *topic)
{
    const char *name = listen->work.topic;
    const json_t *settings = json_object_get(topic, "settings"), *from = json_object_get(topic, "from");
    struct buffer patch;
    if (!listen->call->arguments.is_taking) {
        problem_set(&listen->call->problem,
                    "the server POSTs the jobs of topic %s to its receivers. With --take, the jobs come here "
                    "until the command ends, and the receivers get none",
                    name);
        return false;
    }
    buffer_init(&patch, PATCH_MAX);
    struct json_writer now = json_writer_to(&patch), before = json_writer_to(&listen->before);
    json_put_object(&now);
    json_put_object(&before);
    for (size_t i = 0; i < sizeof taken_settings / sizeof *taken_settings; i++) {
        const char *setting = taken_settings[i].name, *origin = call_text(from, setting);
        const json_t *value = json_object_get(settings, setting);
        if (i > 0 && (!value || json_is_false(value)))
            continue;
        char *own = value && origin && strcmp(origin, "topic") == 0 ? call_setting(value) : NULL;
        bool is_text = json_is_string(value);
        json_put_name_text(&now, slice_of(setting));
        json_put_raw(&now, slice_of(taken_settings[i].taken));
        json_put_name_text(&before, slice_of(setting));
        if (own && is_text)
            json_put_text(&before, slice_of(json_string_value(value)));
        else
            json_put_raw(&before, own ? slice_of(own) : SLICE("null"));
        free(own);
    }
    json_end_object(&now);
    json_end_object(&before);
    bool is_taken = patch_topic(listen, &patch, &listen->call->problem);
    buffer_fini(&patch);
    if (is_taken)
        work_print(
            &listen->work,
            "topic %s has delivery=pull until this command ends, and its receivers get no jobs. If the "
            "command is killed: PATCH /topics/%s with %s",
            name, name, buffer_text(&listen->before));
    else
        buffer_clear(&listen->before);
    return is_taken;
}

/* Restores the settings, unless the delivery was changed meanwhile. */
static void return_topic(struct listen *listen)
{
    struct problem problem = {""};
    const char *name = listen->work.topic;
    if (!listen->before.size)
        return;
    json_t *topic =
        remote_ask_json(listen->call->remote, "GET", buffer_text(&listen->target), NULL, &problem);
    const char *now = call_text(json_object_get(topic, "settings"), "delivery");
    if (topic && (!now || strcmp(now, "pull") != 0))
        work_print(&listen->work, "delivery of topic %s was changed meanwhile, and stays as it is", name);
    else if (topic && patch_topic(listen, &listen->before, &problem))
        work_print(&listen->work, "the receivers of topic %s get its jobs again", name);
    else
        work_print(&listen->work, "topic %s still has delivery=pull: %s. PATCH /topics/%s with %s", name,
                   problem.text, name, buffer_text(&listen->before));
    json_decref(topic);
}

/* ---- the topic's settings ---- */

/* Reads what the requests depend on. A token with the scope lease alone cannot read settings: then, the
 * setting results is unknown, and the first lease says whether the topic has delivery=pull. */
static bool read_topic(struct listen *listen)
{
    struct call *call = listen->call;
    struct slice server = slice_of(remote_options(call->remote).server);
    json_t *topic = remote_ask_json(call->remote, "GET", buffer_text(&listen->target), NULL, &call->problem);
    bool is_forbidden = !topic && strncmp(call->problem.text, "403:", 4) == 0;
    bool is_done = topic || is_forbidden;
    const json_t *settings = json_object_get(topic, "settings");
    const char *delivery = call_text(settings, "delivery");
    if (is_forbidden) {
        call->problem = (struct problem){""};
        work_print(&listen->work, "the token does not have the scope read: answers are not kept as results");
    }
    listen->post.are_results_kept = json_is_true(json_object_get(settings, "results"));
    while (server.size && server.data[server.size - 1] == '/')
        server.size--;
    buffer_printf(&listen->end_url, "%.*s%s/", SLICE_ARG(server), buffer_text(&listen->target));
    listen->post.end_url = buffer_slice(&listen->end_url);
    if (topic && (!delivery || strcmp(delivery, "pull") != 0))
        is_done = take_topic(listen, topic);
    json_decref(topic);
    return is_done;
}

/* ---- the command ---- */

static bool read_options(struct listen *listen)
{
    struct call *call = listen->call;
    const char *to = call->arguments.values[ARGUMENT_TO_URL],
               *file = call->arguments.values[ARGUMENT_SIGNING_SECRET_FILE];
    const char *fault = "is missing";
    struct url url;
    if (!to || url_parse(slice_of(to), &url, &fault) != STATUS_OK) {
        problem_set(&call->problem,
                    "--to %.300s: %s; expected TOPIC --to URL, such as: duepost listen orders --to "
                    "http://localhost:3000/hook",
                    to ? to : "", fault);
        return false;
    }
    if (!work_settings_read(&listen->work, call, "expected TOPIC --to URL"))
        return false;
    if (listen->work.timeout_us > TIMEOUT_MAX_US) {
        problem_set(&call->problem, "--timeout is %s: expected at most 1h",
                    call->arguments.values[ARGUMENT_TIMEOUT]);
        return false;
    }
    listen->post.url = to;
    listen->post.timeout_ms =
        listen->work.timeout_us ? (long)(listen->work.timeout_us / 1000) : TIMEOUT_DEFAULT_S * 1000L;
    return !file || signing_file_read(file, &listen->post.keys, &call->problem) == STATUS_OK;
}

bool listen_run(struct call *call)
{
    struct listen listen = {.call = call, .work = {.name = "listen"}};
    bool is_done = false;
    listen.work.post = &listen.post;
    if (!read_options(&listen))
        return false;
    int signal_fd =
        terminal_signals(0, &call->problem); /* from here on, a signal does not skip return_topic */
    if (signal_fd < 0)
        return false;
    buffer_init(&listen.target, CALL_TARGET_MAX);
    buffer_init(&listen.end_url, REMOTE_URL_MAX);
    buffer_init(&listen.before, PATCH_MAX);
    ask_make_topic_target(&listen.target, call);
    if (read_topic(&listen)) {
        work_print(&listen.work, "jobs of topic %s go to %s", listen.work.topic, listen.post.url);
        is_done = work_take_jobs(&listen.work, call, signal_fd);
        return_topic(&listen);
    }
    buffer_fini(&listen.target);
    buffer_fini(&listen.end_url);
    buffer_fini(&listen.before);
    close(signal_fd);
    return is_done;
}
