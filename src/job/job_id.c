#include "job/job_id.h"

#include "base/utf8.h"

static bool is_topic_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           byte == '.' || byte == '_' || byte == '-';
}

static bool is_dots(struct slice text)
{
    return slice_equal(text, SLICE(".")) || slice_equal(text, SLICE(".."));
}

bool topic_is_sibling(struct slice topic)
{
    return topic.size && memchr(topic.data, JOB_SIBLING_MARK, topic.size);
}

bool group_name_is_valid(struct slice name)
{
    return topic_is_valid(name) && !topic_is_sibling(name);
}

bool limit_name_is_valid(struct slice name)
{
    return group_name_is_valid(name);
}

struct slice topic_owner(struct slice topic_or_id)
{
    struct slice topic, owner, ignored;
    slice_cut(topic_or_id, '/', &topic, &ignored);
    slice_cut(topic, JOB_SIBLING_MARK, &owner, &ignored);
    return owner;
}

bool topic_is_valid(struct slice topic)
{
    struct slice owner = topic_owner(topic);
    size_t sibling_size = topic.size - owner.size;
    for (size_t i = 0; i < topic.size; i++)
        if (!is_topic_byte(topic.data[i]) && topic.data[i] != JOB_SIBLING_MARK)
            return false;
    return owner.size > 0 && owner.size <= JOB_TOPIC_MAX && !is_dots(owner) && sibling_size != 1 &&
           sibling_size <= JOB_SIBLING_MAX;
}

static bool is_job_id(struct slice job_id, size_t max)
{
    return job_id.size <= max && !is_dots(job_id) && utf8_is_text(job_id.data, job_id.size);
}

bool job_id_is_valid(struct slice job_id)
{
    return is_job_id(job_id, JOB_ID_MAX);
}

bool job_id_has_dots(struct slice id)
{
    struct slice part;
    bool more = true, has_dots = false;
    while (more && !has_dots) {
        more = slice_cut(id, '/', &part, &id);
        has_dots = is_dots(part);
    }
    return has_dots;
}

bool job_key_parse(struct slice key, struct slice *topic, struct slice *job_id)
{
    return slice_cut(key, '/', topic, job_id) && topic_is_valid(*topic) &&
           is_job_id(*job_id, topic_is_sibling(*topic) ? JOB_ID_DERIVED_MAX : JOB_ID_MAX);
}

void job_id_make(int64_t now_ms, const uint8_t random[10], char text[JOB_ID_NEW_SIZE])
{
    static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    uint8_t bytes[16];
    for (unsigned i = 0; i < 6; i++)
        bytes[i] = (uint8_t)((uint64_t)now_ms >> (40 - 8 * i));
    memcpy(bytes + 6, random, 10);
    for (unsigned i = 0; i < JOB_ID_NEW_SIZE; i++) { /* five bits a character, from the last byte on */
        size_t last = sizeof bytes - 1 - 5 * i / 8;
        unsigned pair = bytes[last] | (last > 0 ? (unsigned)bytes[last - 1] << 8 : 0);
        text[JOB_ID_NEW_SIZE - 1 - i] = alphabet[pair >> (5 * i % 8) & 31];
    }
}

bool workflow_place_parse(struct slice place, struct slice *id, int64_t *made_ms)
{
    size_t end = place.size;
    uint64_t number;
    while (end > 0 && place.data[end - 1] != '/')
        end--;
    if (end == 0 || !slice_to_number(slice_skip(place, end), INT64_MAX, &number))
        return false;
    *id = slice_from(place.data, end - 1);
    *made_ms = (int64_t)number;
    return memchr(id->data, '/', id->size) != NULL;
}
