#include "fuzz.h"
#include "job/delivery/identity.h"
#include "job/request.h"

/* An accepted answer has a token that a header can have, and a life of at most a day. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct access_answer answer;
    struct buffer room;
    if (size > ACCESS_ANSWER_ROOM)
        return 0;
    buffer_init(&room, ACCESS_ANSWER_ROOM);
    const char *fault = access_answer_read(input_of(data, size), &room, &answer);
    if (fault) {
        assert(fault[0]);
    } else {
        assert(answer.token.size > 0 && answer.token.size <= ACCESS_TOKEN_MAX);
        assert(header_value_is_valid(answer.token) && !room.failed);
        assert(answer.seconds > 0 && answer.seconds <= ACCESS_EXPIRES_MAX_S);
    }
    buffer_fini(&room);
    return 0;
}
