// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The kernel's side: the engine runs in the kernel's first thread, in the place of the first program, and reaches the
 * kernel by plain calls. What it opens, mounts and binds is that thread's, as it would be a program's.
 */
#include <linux/reboot.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/task_work.h>
#include <linux/syscalls.h>
#include <linux/uaccess.h>
#include <linux/nsproxy.h>
#include <net/ip.h>
#include <net/net_namespace.h>
#include <net/sctp/sctp.h>
#include <net/tcp.h>
#include <asm/unistd.h>
#include <sysdep/ptrace.h>
#include <sysdep/syscalls.h>
#include "rexmit.h"

/* What a program meets on its way back from a system call: closed files end, and who was woken runs. */
void rexmit_come_back(void)
{
	if (test_thread_flag(TIF_NOTIFY_RESUME)) {
		clear_thread_flag(TIF_NOTIFY_RESUME);
		if (task_work_pending(current))
			task_work_run();
	}
	if (need_resched())
		schedule();
}

static long rexmit_call(long number, const long *a)
{
	long answer = -ENOSYS;

	if (number >= 0 && number < __NR_syscalls)
		answer = sys_call_table[number](a[0], a[1], a[2], a[3], a[4], a[5]);
	rexmit_come_back();
	return answer;
}

static void rexmit_counters(unsigned long long *values)
{
	static const int linux_mib[] = {
		LINUX_MIB_TCPSYNRETRANS, LINUX_MIB_TCPTIMEOUTS, LINUX_MIB_TCPSACKRECOVERY, LINUX_MIB_TCPRENORECOVERY,
	};
	static const int sctp_mib[] = {
		SCTP_MIB_OUTORDERCHUNKS, SCTP_MIB_OUTUNORDERCHUNKS, SCTP_MIB_T1_INIT_EXPIREDS,
		SCTP_MIB_T1_COOKIE_EXPIREDS, SCTP_MIB_T2_SHUTDOWN_EXPIREDS, SCTP_MIB_T3_RTX_EXPIREDS,
		SCTP_MIB_FAST_RETRANSMITS,
	};
	struct net *net = current->nsproxy->net_ns;
	int i;

	BUILD_BUG_ON(1 + ARRAY_SIZE(linux_mib) + ARRAY_SIZE(sctp_mib) != REXMIT_COUNTERS);
	*values++ = snmp_fold_field(net->mib.tcp_statistics, TCP_MIB_RETRANSSEGS);
	for (i = 0; i < ARRAY_SIZE(linux_mib); i++)
		*values++ = snmp_fold_field(net->mib.net_statistics, linux_mib[i]);
	for (i = 0; i < ARRAY_SIZE(sctp_mib); i++)
		*values++ = snmp_fold_field(net->sctp.sctp_statistics, sctp_mib[i]);
}

static unsigned long long rexmit_now(void)
{
	return ktime_get_ns();
}

static void *rexmit_network(int fd)
{
	struct net *net = get_net_ns_by_fd(fd);

	if (IS_ERR(net))
		return NULL;
	/* The descriptor holds it. */
	put_net(net);
	return net;
}

/* The thread has its namespaces to itself since it made the first: whoever moves it back leaves all counts as they were. */
static void *rexmit_enter(void *network)
{
	return xchg(&current->nsproxy->net_ns, network);
}

static long rexmit_look(int fd, struct rexmit_look *look)
{
	int err;
	struct socket *sock = sockfd_lookup(fd, &err);
	struct sock *sk;
	bool slow;

	if (!sock)
		return err;
	sk = sock->sk;
	look->state = inet_sk_state_load(sk);
	slow = lock_sock_fast(sk);
	look->readable = look->state == TCP_LISTEN ? 0 : tcp_inq(sk);
	unlock_sock_fast(sk, slow);
	look->error = -sock_error(sk);
	if (!look->error)
		look->error = xchg(&sk->sk_err_soft, 0);
	sockfd_put(sock);
	return 0;
}

/* Where the patch `start` does not fit, sequence numbers count from the boot. */
void __weak rexmit_count_from(unsigned long long start)
{
}

static const struct rexmit_calls calls = {
	.version = REXMIT_CALLS_VERSION,
	.call = rexmit_call,
	.host_write = rexmit_host_write,
	.counters = rexmit_counters,
	.reseed = rexmit_reseed,
	.count_from = rexmit_count_from,
	.now = rexmit_now,
	.interface = rexmit_interface,
	.take = rexmit_take,
	.give = rexmit_give,
	.lost = rexmit_lost,
	.network = rexmit_network,
	.enter = rexmit_enter,
	.look = rexmit_look,
	.host_read = rexmit_host_read,
	.steps = rexmit_steps,
	.step = rexmit_step,
	.next_timer = rexmit_next_timer,
	.record = rexmit_record,
	.recorded = rexmit_recorded,
	.missed = rexmit_missed,
	.host_create = rexmit_host_create,
	.host_keep = rexmit_host_keep,
	.wait = rexmit_wait,
};

/* Called by the first thread where it would start a program; comes back only where there is no engine. */
void rexmit_run_engine(void);
void rexmit_run_engine(void)
{
	if (!rexmit_engine_loaded())
		return;
	rexmit_inside = 1;
	rexmit_engine_run(&calls);
	kernel_power_off();
}
