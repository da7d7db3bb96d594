// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The engine's waits. While nothing else is to run in the guest, the engine's own thread does what the idle loop would do:
 * it stops the tick, takes the clock to the next timer and lets that act, until its time has come or a descriptor is ready.
 * It has the same timers armed at the same moments as a thread that sleeps, so that all happens at the same times; what it
 * saves is to be put to sleep, to be woken, and two changes of stacks.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/tick.h>
#include "rexmit.h"

/* Where the patch `engine-alarms` does not fit, threads sleep. */
int __weak rexmit_next_alarm(void)
{
	return 0;
}

static struct hrtimer alarm;
static bool rang;

static enum hrtimer_restart ring(struct hrtimer *timer)
{
	rang = true;
	return HRTIMER_NORESTART;
}

/* What a change of threads would do for those who free memory later; before it, whoever is to run. */
static bool alone(void)
{
	local_bh_disable();
	rcu_softirq_qs();
	local_bh_enable();
	if (!single_task_running())
		return false;
	/* The tick asks for such a change, too. */
	clear_tsk_need_resched(current);
	return true;
}

static long pass(struct file *file)
{
	long answer = -EAGAIN;

	tick_nohz_idle_enter();
	while (alone()) {
		int acted;

		local_irq_disable();
		tick_nohz_idle_stop_tick();
		acted = rexmit_next_alarm();
		local_irq_enable();
		if (!acted)
			break;
		if (vfs_poll(file, NULL) & EPOLLIN)
			answer = 1;
		else if (rang)
			answer = 0;
		else
			continue;
		break;
	}
	tick_nohz_idle_exit();
	return answer;
}

long rexmit_wait(int poll, unsigned long long until)
{
	struct file *file;
	long answer;

	rexmit_come_back();
	if (rexmit_has_steps())
		return -EAGAIN;
	file = fget(poll);
	if (!file)
		return -EBADF;
	if (vfs_poll(file, NULL) & EPOLLIN) {
		answer = 1;
	} else if (!alone()) {
		answer = -EAGAIN;
	} else {
		if (!alarm.function) {
			hrtimer_init(&alarm, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
			alarm.function = ring;
		}
		rang = false;
		hrtimer_start(&alarm, ns_to_ktime(until), HRTIMER_MODE_ABS_HARD);
		answer = pass(file);
		/* Whoever goes on to sleep has a timer of the same time: this one changes nothing. */
		if (answer == 1)
			hrtimer_cancel(&alarm);
	}
	fput(file);
	return answer;
}
