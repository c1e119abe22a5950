#include "server/token_file.h"

#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"

static void check_mode(const char *path, struct problem *warning)
{
    struct stat stat_of;
    warning->text[0] = '\0';
    if (stat(path, &stat_of) == 0 && stat_of.st_mode & (S_IWGRP | S_IWOTH))
        problem_set(warning, "other users may write %s and grant themselves any right; chmod go-w it", path);
}

enum status token_file_read(const char *path, struct token_table **tokens, struct problem *warning,
                            struct problem *problem)
{
    struct buffer text;
    enum status status = file_read(path, TOKENS_FILE_BYTES_MAX, &text, problem);
    if (status == STATUS_OK)
        status = token_table_parse(path, buffer_slice(&text), tokens, problem);
    if (status == STATUS_OK)
        check_mode(path, warning);
    buffer_fini(&text);
    return status;
}

void token_file_log(const char *path, const struct token_table *tokens)
{
    size_t count = token_table_count(tokens);
    log_info("tokens_read", LOG_TEXT("file", path), LOG_NUMBER("count", count));
    if (count == 0)
        log_warning("no_tokens", LOG_TEXT("what", "the file has no tokens: every request is refused"));
}
