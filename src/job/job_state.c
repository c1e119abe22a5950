#include "job/job_state.h"

const char *job_state_word(enum job_state state)
{
    static const char *const words[] = {"delayed", "ready", "leased", "dead", "delivered", "cancelled"};
    return words[state];
}
