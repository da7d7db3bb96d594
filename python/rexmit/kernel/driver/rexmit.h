/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the engine, a shared library of the host that the kernel loads, asks of the kernel: `crates/inside/src/calls.rs`
 * says the same in Rust. Numbers and pointers only, in the host's calling convention.
 */
#ifndef __REXMIT_H
#define __REXMIT_H

/* Raised with every change of the structure below or of what a member means. */
#define REXMIT_CALLS_VERSION 3

struct rexmit_look;

struct rexmit_calls {
	unsigned long long version;
	/* A system call of the guest, made by the thread that runs the engine; negative: an error's number. */
	long (*call)(long number, const long *args);
	/* Writes to a descriptor of the host, whole; 0, or an error's number, negative. */
	long (*host_write)(int fd, const void *data, unsigned long len);
	/* Counters of the thread's network namespace: REXMIT_COUNTERS numbers, in the order of `rexmit_kern.c`. */
	void (*counters)(unsigned long long *values);
	/* Seeds the kernel's random numbers anew. */
	void (*reseed)(unsigned long long seed);
	/* Lets sequence numbers and timestamps count from this time of CLOCK_MONOTONIC, nanoseconds. */
	void (*count_from)(unsigned long long start);
	/* CLOCK_MONOTONIC, nanoseconds. */
	unsigned long long (*now)(void);
	/*
	 * An interface of the thread's network namespace for IP packets without a link header, like a TUN device: its
	 * descriptor, readable while there are packets of the host's, or an error's number, negative. It goes when the
	 * descriptor is closed. `handle` is for the two below.
	 */
	long (*interface)(const char *name, void **handle);
	/* The next packet that the host has sent, into `buffer`: its length, or 0 where there is none. */
	long (*take)(void *handle, void *buffer, unsigned long len);
	/* Gives the host a packet; its stack has run when this comes back. 0, or an error's number, negative. */
	long (*give)(void *handle, const void *packet, unsigned long len);
	/* Packets that the host has sent and nobody took in time. */
	unsigned long long (*lost)(void *handle);
	/* The network namespace behind a descriptor, for as long as that is open; NULL where it is none. */
	void *(*network)(int fd);
	/* Moves the thread to a network namespace; the one that it was in. */
	void *(*enter)(void *network);
	/* Looks at a TCP socket. 0, or an error's number, negative. */
	long (*look)(int fd, struct rexmit_look *look);
	/* Reads from a descriptor of the host, for which the guest waits whole: how many bytes, 0 at its end, or an error's number. */
	long (*host_read)(int fd, void *data, unsigned long len);
	/* A descriptor that is readable once a step has ended, or an error's number, negative. */
	long (*steps)(void);
	/*
	 * Begins a step: the clock of an idle kernel stands at `until`, nanoseconds of CLOCK_MONOTONIC, once all that was due
	 * then has been done, or with `before`, all that was due before.
	 */
	void (*step)(unsigned long long until, int before);
	/* When the first timer of the kernel is due, as it stood at the end of the last step. */
	unsigned long long (*next_timer)(void);
	/* Begins to record what passes an interface, or ends that, and forgets what was recorded. */
	void (*record)(void *handle, int on);
	/*
	 * What passed since the last call, in order: bytes of whole records, one behind the other, which stay until the next
	 * call for this interface; 0 where there are none. More may be left after a call that gave some.
	 */
	unsigned long (*recorded)(void *handle, const void **records);
	/* Packets that found no memory to be recorded in. */
	unsigned long long (*missed)(void *handle);
	/* A new file of the host, which nothing else has the name of: its descriptor, or an error's number, negative. */
	long (*host_create)(const char *path);
	/* Closes a file of the host and gives it another name, or removes it where that is NULL. 0, or an error's number. */
	long (*host_keep)(int fd, const char *path, const char *name);
	/*
	 * Waits for a set of descriptors, an epoll, until this time of CLOCK_MONOTONIC, nanoseconds, which has not come yet:
	 * 1 where some of them are ready, 0 where the time came first. Negative where the thread is to sleep for that, as others
	 * have something to do: it asks by a system call then.
	 */
	long (*wait)(int poll, unsigned long long until);
};

/* A packet that was recorded; `len` bytes of it follow, and as many as make the sum a multiple of 8. */
struct rexmit_record {
	/* CLOCK_REALTIME, nanoseconds. */
	unsigned long long time;
	unsigned int len;
	/* 1 for one that the host sent. */
	unsigned int outgoing;
};

/* What is known of a TCP socket without asking for all. */
struct rexmit_look {
	/* TCP_ESTABLISHED and so on. */
	int state;
	/* As SO_ERROR gives it, which is then forgotten. */
	int error;
	/* Bytes in order that wait for a read. */
	unsigned long long readable;
};

#define REXMIT_COUNTERS 12

/* drivers/char/random.c, net/core/secure_seq.c */
extern void rexmit_reseed(unsigned long long seed);
extern void rexmit_count_from(unsigned long long start);
/* rexmit_interface.c */
extern long rexmit_interface(const char *name, void **handle);
extern long rexmit_take(void *handle, void *buffer, unsigned long len);
extern long rexmit_give(void *handle, const void *packet, unsigned long len);
extern unsigned long long rexmit_lost(void *handle);
/* rexmit_steps.c */
extern long rexmit_steps(void);
extern void rexmit_step(unsigned long long until, int before);
extern unsigned long long rexmit_next_timer(void);
extern int rexmit_has_steps(void);
/* rexmit_wait.c */
extern long rexmit_wait(int poll, unsigned long long until);
/*
 * arch/um/kernel/time.c: takes the clock to the next timer and lets it act, with interrupts disabled; 0 where there is none,
 * or something else comes first.
 */
extern int rexmit_next_alarm(void);
extern void rexmit_record(void *handle, int on);
extern unsigned long rexmit_recorded(void *handle, const void **records);
extern unsigned long long rexmit_missed(void *handle);
/* rexmit_kern.c */
extern void rexmit_come_back(void);
/* rexmit_user.c, compiled against the host's libc. */
extern int rexmit_engine_loaded(void);
extern int rexmit_engine_run(const struct rexmit_calls *calls);
extern long rexmit_host_write(int fd, const void *data, unsigned long len);
extern long rexmit_host_read(int fd, void *data, unsigned long len);
extern long rexmit_host_create(const char *path);
extern long rexmit_host_keep(int fd, const char *path, const char *name);

#endif
