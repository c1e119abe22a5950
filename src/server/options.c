#include "server/options.h"

#include "base/memory.h"

void options_warn(struct options *options, const char *text)
{
    options->warnings =
        memory_resize(options->warnings, (options->warning_count + 1) * sizeof *options->warnings);
    options->warnings[options->warning_count++] = slice_dup(slice_of(text));
}

void options_log_warnings(const struct options *options)
{
    for (size_t i = 0; i < options->warning_count; i++)
        log_warning("configuration", LOG_TEXT("what", options->warnings[i]));
}

bool options_have_history(const struct options *options)
{
    return options->history_path || options->history_url;
}

void options_fini(struct options *options)
{
    char *const texts[] = {options->listen.host,
                           options->health_listen.host,
                           options->tokens_file,
                           options->data_dir,
                           options->embedded_server,
                           options->config,
                           options->redis_password_file,
                           options->sentinel_user,
                           options->sentinel_password_file,
                           options->redis_ca,
                           options->redis_cert,
                           options->redis_key,
                           options->redis_server_name,
                           options->prefix,
                           options->log,
                           options->signing_secret_file,
                           options->tls_cert,
                           options->tls_key,
                           options->egress_proxy,
                           options->receiver_ca,
                           options->hosts,
                           options->history_path,
                           options->history_url};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    otlp_options_fini(&options->otlp);
    token_table_release(options->tokens);
    http_tls_release(options->tls);
    redis_tls_free(options->redis_tls);
    redis_address_fini(&options->redis_address);
    target_policy_free(options->targets);
    for (enum option_id id = 0; id < OPTION_COUNT; id++)
        free(options->settings[id].text);
    for (size_t i = 0; i < options->warning_count; i++)
        free(options->warnings[i]);
    free(options->warnings);
    explicit_bzero(options, sizeof *options);
}
