/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the engine, a shared library of the host that the kernel loads, asks of the kernel: `crates/inside/src/calls.rs`
 * says the same in Rust. Numbers and pointers only, in the host's calling convention.
 */
#ifndef __REXMIT_H
#define __REXMIT_H

/* Raised with every change of the structure below or of what a member means. */
#define REXMIT_CALLS_VERSION 1

struct rexmit_calls {
	unsigned long long version;
	/* A system call of the guest, made by the thread that runs the engine; negative: an error's number. */
	long (*call)(long number, const long *args);
	/* Writes to a descriptor of the host, whole; 0, or an error's number, negative. */
	long (*host_write)(int fd, const void *data, unsigned long len);
	/* Counters of the thread's network namespace: REXMIT_COUNTERS numbers, in the order of `rexmit_kern.c`. */
	void (*counters)(unsigned long long *values);
};

#define REXMIT_COUNTERS 12

/* rexmit_user.c, compiled against the host's libc. */
extern int rexmit_engine_loaded(void);
extern int rexmit_engine_run(const struct rexmit_calls *calls);
extern long rexmit_host_write(int fd, const void *data, unsigned long len);

#endif
