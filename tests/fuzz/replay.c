/* replay.c - replaces libFuzzer: passes each file of the given directories to a target. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "fuzz.h"

/* Passes a file to the target, in memory of exactly the file's size, so that a sanitizer detects a read
 * beyond its end. */
static void replay(const char *directory, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "rb");
    assert(file);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    assert(size >= 0);
    uint8_t *data = malloc((size_t)size + (size == 0));
    size_t got = fread(data, 1, (size_t)size, file);
    assert(got == (size_t)size);
    fclose(file);
    LLVMFuzzerTestOneInput(data, got);
    free(data);
}

static size_t replay_all(const char *directory)
{
    size_t count = 0;
    DIR *files = opendir(directory);
    assert(files);
    for (struct dirent *file; (file = readdir(files));)
        if (file->d_name[0] != '.') {
            replay(directory, file->d_name);
            count++;
        }
    closedir(files);
    return count;
}

int main(int argc, char **argv)
{
    size_t count = 0;
    for (int i = 1; i < argc; i++)
        count += replay_all(argv[i]);
    printf("%zu inputs\n", count);
    return count ? 0 : 1;
}
