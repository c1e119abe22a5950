#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

void problem_set(struct problem *problem, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(problem->text, sizeof problem->text, format, values);
    va_end(values);
}
