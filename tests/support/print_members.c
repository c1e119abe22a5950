/* Prints the tables of members as JSON, for tests/members. */
#include <stdio.h>

#include "job/job_members.h"
#include "job/recurring.h"
#include "job/topic_settings.h"

int main(void)
{
    struct buffer out;
    buffer_init(&out, 1 << 20);
    struct json_writer json = json_writer_to(&out);
    json_put_object(&json);
    json_put_name(&json, "job");
    members_describe(&job_members, &json);
    json_put_name(&json, "settings");
    members_describe(&topic_settings_members, &json);
    json_put_name(&json, "schedule");
    members_describe(&recurring_members, &json);
    json_end_object(&json);
    puts(buffer_text(&out));
    buffer_fini(&out);
    return 0;
}
