/* report.c - prints the lines of duepost check. */
#include <stdarg.h>
#include <stdio.h>

#include "cli/output.h"
#include "server/check/check_private.h"

enum { LINE_MAX = 1024, REPORT_MAX = 256 * 1024 };

static const char *const words[] = {[CHECK_OK] = "ok", [CHECK_WARNING] = "warn", [CHECK_FAILURE] = "FAIL"};

void check_report_begin(struct check_report *report, bool is_json)
{
    *report = (struct check_report){.is_json = is_json};
    buffer_init(&report->text, REPORT_MAX);
    if (!is_json)
        return;
    report->json = json_writer_to(&report->text);
    json_put_object(&report->json);
    json_add_array(&report->json, "checks");
}

void check_add(struct check_report *report, enum check_result result, const char *name, const char *format,
               ...)
{
    char text[LINE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    report->counts[result]++;
    if (!report->is_json) {
        struct buffer shown;
        buffer_init(&shown, LINE_MAX);
        table_append_shown(&shown, slice_of(text));
        printf("%-4s  %-10s  %s\n", words[result], name, buffer_text(&shown));
        fflush(stdout); /* prints the line now, because the next one may take seconds */
        buffer_fini(&shown);
        return;
    }
    json_put_object(&report->json);
    json_add_text(&report->json, "name", slice_of(name));
    json_add_text(&report->json, "result", slice_of(words[result]));
    json_add_text(&report->json, "text", slice_of(text));
    json_end_object(&report->json);
}

bool check_report_end(struct check_report *report)
{
    bool is_ok = report->counts[CHECK_FAILURE] == 0;
    if (report->is_json) {
        json_end_array(&report->json);
        json_add_bool(&report->json, "ok", is_ok);
        json_end_object(&report->json);
        printf("%s\n", buffer_text(&report->text));
    } else {
        printf("%u ok, %u to check (warn), %u to repair (FAIL)\n", report->counts[CHECK_OK],
               report->counts[CHECK_WARNING], report->counts[CHECK_FAILURE]);
    }
    buffer_fini(&report->text);
    return is_ok;
}
