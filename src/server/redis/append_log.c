/* append_log.c - finds the files of Redis's append-only file, and cuts a torn end off before redis-server
 * starts.
 *
 * Redis writes a script's changes between MULTI and EXEC. If a power cut leaves only the beginning of a
 * transaction on disk and its last command is torn, Redis (seen with 7.0) removes only this command. The file
 * then ends with an open MULTI. New changes are appended after this MULTI. The next start of Redis then
 * executes the half transaction together with these new changes, which leaves, for example, jobs without a
 * lease.
 *
 * Zeros at the end, up to 4,096 bytes, are cut, too: a file system may have written the size of the file
 * before its data. Redis would refuse such a file. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/slice.h"
#include "server/redis/redis_private.h"

#define FOLDER "appendonlydir"

enum {
    MANIFEST_MAX = 64 << 10,
    NAME_MAX_BYTES = 256,
    WINDOW_BYTES = 1 << 20,
    BASE_EMPTY_MAX = 1024, /* a base file without data has some 90 bytes */
    ZEROS_MAX = 4096,      /* one block, whose size a power cut may leave without its data */
    HEAD_MAX = 32,         /* maximum size of a line such as "*3\r\n" or "$1234\r\n" */
};

/* Reads the file through a window: the part of the file that is in memory. at is the offset in the file of
 * the next byte to read. */
struct reader {
    int fd;
    int64_t size;
    int64_t at;
    int64_t window_at;
    size_t window_size;
    char *window;
};

enum piece { PIECE_WHOLE, PIECE_TORN, PIECE_DAMAGED };

/* Returns at least count bytes that begin at reader->at, or fewer at the end, which is reader->size. count is
 * at most WINDOW_BYTES. */
static struct slice append_log_look(struct reader *reader, size_t count)
{
    int64_t from = reader->at - reader->window_at;
    if (from < 0 || from + (int64_t)count > (int64_t)reader->window_size) {
        reader->window_at = reader->at;
        reader->window_size = 0;
        while (reader->window_size < WINDOW_BYTES) {
            ssize_t got =
                pread(reader->fd, reader->window + reader->window_size, WINDOW_BYTES - reader->window_size,
                      reader->at + (int64_t)reader->window_size);
            if (got < 0 && errno == EINTR)
                continue;
            if (got <= 0)
                break;
            reader->window_size += (size_t)got;
        }
        from = 0;
    }
    int64_t left = reader->size - reader->at, found = (int64_t)reader->window_size - from;
    return slice_from(reader->window + from, (size_t)(found < left ? found : left));
}

/* Reads a line such as "*3\r\n". */
static enum piece read_number(struct reader *reader, char sign, uint64_t *number)
{
    struct slice text = append_log_look(reader, HEAD_MAX), line, rest;
    if (text.size > HEAD_MAX)
        text.size = HEAD_MAX;
    bool is_whole = slice_cut(text, '\n', &line, &rest);
    if (text.size && text.data[0] != sign)
        return PIECE_DAMAGED;
    if (!is_whole)
        return text.size < HEAD_MAX ? PIECE_TORN : PIECE_DAMAGED;
    if (!slice_ends_with(line, slice_of("\r")))
        return PIECE_DAMAGED;
    if (!slice_to_number(slice_from(line.data + 1, line.size - 2), INT32_MAX, number))
        return PIECE_DAMAGED;
    reader->at += (int64_t)line.size + 1;
    return PIECE_WHOLE;
}

/* Reads one command. *depth is 1 after MULTI and 0 after EXEC. */
static enum piece read_command(struct reader *reader, int *depth)
{
    uint64_t arguments, size;
    if (append_log_look(reader, 1).data[0] == '#') {
        /* a line "#TS:...", which Redis writes with aof-timestamp-enabled */
        enum { ANNOTATION_MAX = 1024 };
        struct slice text = append_log_look(reader, ANNOTATION_MAX), line, rest;
        if (!slice_cut(text, '\n', &line, &rest))
            return text.size < ANNOTATION_MAX ? PIECE_TORN : PIECE_DAMAGED;
        reader->at += (int64_t)line.size + 1;
        return PIECE_WHOLE;
    }
    enum piece piece = read_number(reader, '*', &arguments);
    for (uint64_t i = 0; piece == PIECE_WHOLE && i < arguments; i++) {
        piece = read_number(reader, '$', &size);
        if (piece != PIECE_WHOLE)
            break;
        if (reader->at + (int64_t)size + 2 > reader->size)
            return PIECE_TORN;
        if (arguments == 1 && size <= HEAD_MAX) {
            struct slice name = slice_from(append_log_look(reader, (size_t)size).data, (size_t)size);
            if (slice_equal_nocase(name, slice_of("multi")))
                *depth = 1;
            else if (slice_equal_nocase(name, slice_of("exec")))
                *depth = 0;
        }
        reader->at += (int64_t)size + 2;
    }
    return piece;
}

/* Returns the offset after the last command that is outside a transaction or ends a transaction. Returns -1
 * if the file is damaged. */
static int64_t find_end(struct reader *reader)
{
    int64_t end = 0;
    int depth = 0;
    while (reader->at < reader->size) {
        if (append_log_look(reader, 1).size == 0)
            return -1; /* reading from the disk has failed */
        enum piece piece = read_command(reader, &depth);
        if (piece == PIECE_DAMAGED)
            return -1;
        if (piece == PIECE_TORN)
            break;
        if (depth == 0)
            end = reader->at;
    }
    return end;
}

/* Returns the number of zeros at the end of the file, or 0 if there are more than ZEROS_MAX. No whole command
 * ends with a zero. */
static int64_t count_zeros(int fd, int64_t size)
{
    char tail[ZEROS_MAX + 1];
    int64_t from = size > (int64_t)sizeof tail ? size - (int64_t)sizeof tail : 0;
    ssize_t got = pread(fd, tail, sizeof tail, from);
    int64_t zeros = 0;
    if (got != size - from)
        return 0;
    while (zeros < got && tail[got - 1 - zeros] == '\0')
        zeros++;
    return zeros <= ZEROS_MAX ? zeros : 0;
}

static int64_t cut_file(int fd)
{
    struct stat file;
    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode))
        return 0;
    struct reader reader = {
        .fd = fd, .size = file.st_size - count_zeros(fd, file.st_size), .window = memory_new(WINDOW_BYTES)};
    int64_t end = find_end(&reader);
    free(reader.window);
    if (end < 0 || end == file.st_size || ftruncate(fd, end) != 0)
        return 0;
    return file.st_size - end;
}

/* Reads a line of the manifest: pairs of a word and its value, such as "file NAME seq 1 type i". Redis 8
 * appends "startoffset 0", and "endoffset 0" when it stops. Redis quotes only names with special characters,
 * which duepost's redis-server does not use. Returns whether this is a file with changes (type i). */
static bool read_entry(struct slice line, struct slice *name)
{
    struct slice word, value;
    bool has_changes = false;
    *name = (struct slice){NULL, 0};
    while (line.size) {
        slice_cut(line, ' ', &word, &line);
        slice_cut(line, ' ', &value, &line);
        if (slice_equal(word, slice_of("file")))
            *name = value;
        else if (slice_equal(word, slice_of("type")))
            has_changes = slice_equal(value, slice_of("i"));
    }
    return has_changes;
}

/* Finds the last file with changes that the manifest lists. */
static bool find_last(struct slice manifest, char path[NAME_MAX_BYTES])
{
    struct slice line, name;
    bool found = false;
    while (slice_cut(manifest, '\n', &line, &manifest)) {
        if (!read_entry(line, &name))
            continue;
        found = name.size && name.size < NAME_MAX_BYTES - sizeof FOLDER && !memchr(name.data, '/', name.size);
        if (found)
            snprintf(path, NAME_MAX_BYTES, FOLDER "/%.*s", SLICE_ARG(name));
    }
    return found;
}

/* Returns whether a file of the append-only file may contain jobs. At its very first start, redis-server
 * creates a base file without data and an empty file for changes before it writes the manifest, so a power
 * cut may leave these two. */
static bool may_have_jobs(struct slice name, int64_t bytes)
{
    if (!slice_starts_with(name, slice_of("appendonly.aof.")))
        return false;
    return (slice_ends_with(name, slice_of(".aof")) && bytes > 0) ||
           (slice_ends_with(name, slice_of(".rdb")) && bytes > BASE_EMPTY_MAX);
}

enum append_log_state append_log_find(int dir_fd)
{
    enum append_log_state state = APPEND_LOG_NONE;
    int fd = openat(dir_fd, FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    struct stat file;
    if (!folder && fd >= 0)
        close(fd);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        struct slice name = slice_of(entry->d_name);
        if (slice_equal(name, slice_of("appendonly.aof.manifest"))) {
            state = APPEND_LOG_WHOLE;
            break;
        }
        if (fstatat(fd, entry->d_name, &file, AT_SYMLINK_NOFOLLOW) == 0 && may_have_jobs(name, file.st_size))
            state = APPEND_LOG_WITHOUT_MANIFEST;
    }
    if (folder)
        closedir(folder);
    return state;
}

int64_t append_log_cut(int dir_fd)
{
    char name[NAME_MAX_BYTES];
    int64_t bytes = 0;
    int fd = openat(dir_fd, FOLDER "/appendonly.aof.manifest", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    char *manifest = memory_new(MANIFEST_MAX);
    ssize_t size = read(fd, manifest, MANIFEST_MAX);
    close(fd);
    if (size > 0 && find_last(slice_from(manifest, (size_t)size), name)) {
        fd = openat(dir_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0) {
            bytes = cut_file(fd);
            close(fd);
        }
    }
    free(manifest);
    return bytes;
}
