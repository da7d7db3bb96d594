// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Time in steps, for an engine whose host is one of several in a run: while there is nothing to do, the clock goes as far
 * as the engine has said, and no further, whatever the kernel's own timers would have it. The patch `engine-steps` asks here
 * before the clock of an idle kernel moves.
 */
#include <linux/anon_inodes.h>
#include <linux/fs.h>
#include <linux/hardirq.h>
#include <linux/ktime.h>
#include <linux/poll.h>
#include "rexmit.h"

/* The clock of time travel, of which CLOCK_MONOTONIC may be some nanoseconds apart. */
extern unsigned long long time_travel_now(void);

static bool in_use;
static unsigned long long end = ~0ULL;
/* How far. */
static long long apart;
static bool stops_before;
static unsigned long long next_timer;
static bool reached;
static DECLARE_WAIT_QUEUE_HEAD(waiting);

/* Whether an idle kernel, whose first timer is due at `next`, has nothing to do until the end of its step: which is `until`. */
bool rexmit_step_ends(unsigned long long next, unsigned long long *until);
bool rexmit_step_ends(unsigned long long next, unsigned long long *until)
{
	*until = end;
	return stops_before ? next >= end : next > end;
}

/* The clock is there. Called from the idle loop, which is no place to wake anybody from. */
void rexmit_step_ended(unsigned long long next);
void rexmit_step_ended(unsigned long long next)
{
	irq_enter();
	next_timer = next;
	reached = true;
	wake_up_interruptible_poll(&waiting, EPOLLIN | EPOLLRDNORM);
	irq_exit();
}

static __poll_t poll(struct file *file, poll_table *wait)
{
	poll_wait(file, &waiting, wait);
	return reached ? EPOLLIN | EPOLLRDNORM : 0;
}

static const struct file_operations file_operations = {
	.owner = THIS_MODULE,
	.poll = poll,
	.llseek = noop_llseek,
};

long rexmit_steps(void)
{
	in_use = true;
	return anon_inode_getfd("[rexmit-steps]", &file_operations, NULL, O_RDWR | O_CLOEXEC);
}

int rexmit_has_steps(void)
{
	return in_use;
}

void rexmit_step(unsigned long long until, int before)
{
	apart = time_travel_now() - ktime_get_ns();
	end = until + apart;
	stops_before = before;
	reached = false;
}

unsigned long long rexmit_next_timer(void)
{
	return next_timer == S64_MAX ? next_timer : next_timer - apart;
}
