/* Keeps what a disk would hold after a loss of power: beside a program, below DISK_COPY, a copy of each file below DISK_FOLDER as it was when
 * the program last synced it. What was written and not synced is not there. Loaded by LD_PRELOAD; names of files are taken as durable. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t copying = PTHREAD_MUTEX_INITIALIZER;

/* The place of a file in the copy; 0 where it is not below the folder. */
static int copy_of(const char *path, char *copy) {
    const char *folder = getenv("DISK_FOLDER"), *disk = getenv("DISK_COPY");
    size_t length = folder ? strlen(folder) : 0;
    if (!disk || length == 0 || strncmp(path, folder, length) != 0 || path[length] != '/') return 0;
    return snprintf(copy, PATH_MAX, "%s%s", disk, path + length) < PATH_MAX;
}

static void make_parents(char *copy) {
    for (char *at = strchr(copy + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        mkdir(copy, 0700);
        *at = '/';
    }
}

/* A fault of the copy ends the program: the test must not take less for the disk than there was. */
static void must(int holds, const char *what) {
    if (holds) return;
    perror(what);
    abort();
}

static void keep(int file) {
    char name[64], path[PATH_MAX + 1], copy[PATH_MAX], part[PATH_MAX + 8];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    ssize_t length = readlink(name, path, PATH_MAX);
    if (length < 0) return;
    path[length] = 0;
    struct stat found;
    if (!copy_of(path, copy) || fstat(file, &found) != 0 || !S_ISREG(found.st_mode) || found.st_nlink == 0) return;
    pthread_mutex_lock(&copying);
    make_parents(copy);
    snprintf(part, sizeof part, "%s.part", copy);
    int from = open(path, O_RDONLY | O_CLOEXEC), to = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    must(from >= 0 && to >= 0, "the copy of a disk cannot be opened");
    ssize_t sent;
    while ((sent = sendfile(to, from, NULL, 1 << 20)) > 0) {}
    must(sent == 0, "the copy of a disk cannot be written");
    close(from);
    close(to);
    must(rename(part, copy) == 0, "the copy of a disk cannot be replaced");
    pthread_mutex_unlock(&copying);
}

static int sync_by(const char *name, int file) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    int done = real(file);
    if (done == 0) keep(file);
    return done;
}

int fsync(int file) { return sync_by("fsync", file); }

int fdatasync(int file) { return sync_by("fdatasync", file); }

int unlink(const char *path) {
    int (*real)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
    char copy[PATH_MAX];
    int done = real(path);
    if (done == 0 && copy_of(path, copy)) real(copy);
    return done;
}

int rename(const char *old, const char *new) {
    int (*real)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    char from[PATH_MAX], to[PATH_MAX];
    int done = real(old, new);
    if (done == 0 && copy_of(old, from) && copy_of(new, to)) real(from, to);
    return done;
}
