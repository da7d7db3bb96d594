// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The host's side: loads the engine while the kernel's process still runs on its first stack, and hands it what the
 * kernel offers. Compiled with USER_CFLAGS, against the host's libc.
 */
/* The host's headers come first: the kernel's name some of their words otherwise. */
#include <stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <dlfcn.h>
#include <poll.h>
#include <init.h>
#include <os.h>
#include "rexmit.h"

typedef int engine(const struct rexmit_calls *calls, const char *job);

static engine *run;
static char *job;

/* `rexmit.engine=LIBRARY`: the engine takes the place of the first program. */
static int __init load(char *path, int *add)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	*add = 0;
	run = library ? dlsym(library, "rexmit_engine") : NULL;
	if (!run) {
		os_warn("rexmit: error: the engine cannot be loaded: %s\n", dlerror());
		exit(1);
	}
	return 0;
}
__uml_setup("rexmit.engine=", load,
"rexmit.engine=<library>\n"
"    Run this library inside the kernel instead of an init.\n\n"
);

/* `rexmit.job=FILE`: what it is told. */
static int __init set_job(char *path, int *add)
{
	*add = 0;
	job = path;
	return 0;
}
__uml_setup("rexmit.job=", set_job,
"rexmit.job=<file>\n"
"    What the engine is told to do.\n\n"
);

int rexmit_engine_loaded(void)
{
	return run != NULL;
}

int rexmit_engine_run(const struct rexmit_calls *calls)
{
	return run(calls, job ? job : "");
}

long rexmit_host_write(int fd, const void *data, unsigned long len)
{
	while (len) {
		ssize_t written = write(fd, data, len);

		if (written < 0) {
			struct pollfd room = { .fd = fd, .events = POLLOUT };

			/* The console's driver makes descriptors of its own that do not wait. */
			if (errno == EAGAIN)
				poll(&room, 1, -1);
			else if (errno != EINTR)
				return -errno;
			continue;
		}
		data += written;
		len -= written;
	}
	return 0;
}

long rexmit_host_read(int fd, void *data, unsigned long len)
{
	for (;;) {
		ssize_t got = read(fd, data, len);
		struct pollfd some = { .fd = fd, .events = POLLIN };

		if (got >= 0)
			return got;
		if (errno == EAGAIN)
			poll(&some, 1, -1);
		else if (errno != EINTR)
			return -errno;
	}
}

long rexmit_host_create(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);

	return fd < 0 ? -errno : fd;
}

long rexmit_host_keep(int fd, const char *path, const char *name)
{
	int failed = close(fd);

	if (!failed)
		failed = name ? rename(path, name) : unlink(path);
	return failed ? -errno : 0;
}
