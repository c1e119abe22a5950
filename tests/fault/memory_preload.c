/* memory_preload.c - failing allocations, for programs started with this file in LD_PRELOAD.
 *
 * The file MEMORY_PLAN holds five numbers, which the test changes while the program runs: the number of
 * allocations since the test last set it to 0; which of them fails (0: none); how many have failed; the
 * smallest size in bytes that counts; and 1 if all later allocations fail, too, else 0. The caller of a
 * failing allocation is printed to stderr. libc's own allocations use other names and are not seen. */
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CALLERS_MAX = 12 };

struct plan {
    atomic_llong count, failing, failed, at_least, is_lasting;
};

static struct plan *plan;

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

__attribute__((constructor)) static void open_plan(void)
{
    const char *path = getenv("MEMORY_PLAN");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *memory = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    void *warm_up[1];
    backtrace(warm_up, 1); /* called once now, because the first call of backtrace allocates memory */
    if (memory != MAP_FAILED)
        plan = memory;
}

static void tell_callers(void)
{
    void *callers[CALLERS_MAX];
    backtrace_symbols_fd(callers, backtrace(callers, CALLERS_MAX), STDERR_FILENO);
}

static int fails(size_t size)
{
    if (!plan || size < (size_t)atomic_load(&plan->at_least))
        return 0;
    long long number = atomic_fetch_add(&plan->count, 1) + 1, failing = atomic_load(&plan->failing);
    if (number != failing && !(failing && number > failing && atomic_load(&plan->is_lasting)))
        return 0;
    atomic_fetch_add(&plan->failed, 1);
    tell_callers();
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return fails(size) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(count * size) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails(size) ? NULL : __libc_realloc(old, size);
}
