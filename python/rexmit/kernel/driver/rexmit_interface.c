// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A host's interface, whose other side is the engine: what the host sends waits in a queue until it is taken, what the
 * engine gives the host receives at once. To the host it is a TUN device without offloads: the same flags, the same memory
 * a packet, the same answer where nobody takes its packets.
 */
#include <linux/anon_inodes.h>
#include <linux/fs.h>
#include <linux/if_arp.h>
#include <linux/if_tun.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/poll.h>
#include <linux/skbuff.h>
#include <linux/version.h>
#include <net/ip_tunnels.h>
#include <net/net_namespace.h>
#include "rexmit.h"

/* Packets that wait at the most. */
#define ROOM 10000

/* Records lie in pieces of this size, each more than the largest packet. */
#define PIECE (1 << 17)

struct piece {
	struct list_head list;
	unsigned long used;
	u8 bytes[] __aligned(8);
};

struct interface {
	struct net_device *dev;
	struct sk_buff_head sent;
	wait_queue_head_t readers;
	unsigned long long lost;
	/* Whether it records, and the pieces that are not read yet. */
	bool records;
	struct list_head pieces;
	/* The one that is being read, and one for later. */
	struct piece *read;
	struct piece *spare;
	unsigned long long missed;
};

/* Room for a record of so many bytes. */
static void *room_for(struct interface *at, unsigned long len)
{
	struct piece *last = list_empty(&at->pieces) ? NULL : list_last_entry(&at->pieces, struct piece, list);
	void *room;

	if (!last || last->used + len > PIECE - sizeof(*last)) {
		last = at->spare ?: kmalloc(PIECE, GFP_ATOMIC | __GFP_NOWARN);
		if (!last)
			return NULL;
		at->spare = NULL;
		last->used = 0;
		list_add_tail(&last->list, &at->pieces);
	}
	room = last->bytes + last->used;
	last->used += len;
	return room;
}

/* The packet is copied: one whose bytes are shared is not treated as others are by the stack that receives it. */
static void note(struct interface *at, const struct sk_buff *skb, bool outgoing)
{
	struct rexmit_record *record = room_for(at, ALIGN(sizeof(*record) + skb->len, 8));

	if (!record) {
		at->missed++;
		return;
	}
	record->time = ktime_get_real_ns();
	record->len = skb->len;
	record->outgoing = outgoing;
	skb_copy_bits(skb, 0, record + 1, skb->len);
}

static void forget(struct interface *at)
{
	struct piece *piece, *next;

	list_for_each_entry_safe(piece, next, &at->pieces, list)
		kfree(piece);
	INIT_LIST_HEAD(&at->pieces);
	kfree(at->read);
	kfree(at->spare);
	at->read = at->spare = NULL;
}

static netdev_tx_t transmit(struct sk_buff *skb, struct net_device *dev)
{
	struct interface *at = netdev_priv(dev);

	if (at->records)
		note(at, skb, true);
	if (skb_queue_len(&at->sent) >= ROOM) {
		at->lost++;
		kfree_skb(skb);
		return NET_XMIT_DROP;
	}
	skb_tx_timestamp(skb);
	/* It may wait for long: who has sent it is to count it no more. */
	skb_orphan(skb);
	skb_queue_tail(&at->sent, skb);
	wake_up_interruptible_poll(&at->readers, EPOLLIN | EPOLLRDNORM);
	return NETDEV_TX_OK;
}

static const struct net_device_ops device_operations = {
	.ndo_start_xmit = transmit,
};

static void set_up(struct net_device *dev)
{
	struct interface *at = netdev_priv(dev);

	at->dev = dev;
	skb_queue_head_init(&at->sent);
	INIT_LIST_HEAD(&at->pieces);
	init_waitqueue_head(&at->readers);
	dev->netdev_ops = &device_operations;
	dev->header_ops = &ip_tunnel_header_ops;
	dev->type = ARPHRD_NONE;
	dev->flags = IFF_POINTOPOINT | IFF_NOARP | IFF_MULTICAST;
	dev->mtu = ETH_DATA_LEN;
	dev->min_mtu = 68;
	dev->max_mtu = 65535;
	dev->tx_queue_len = ROOM;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	dev->lltx = true;
#else
	dev->features |= NETIF_F_LLTX;
#endif
	dev->needs_free_netdev = true;
}

static __poll_t poll(struct file *file, poll_table *wait)
{
	struct interface *at = file->private_data;

	poll_wait(file, &at->readers, wait);
	return EPOLLOUT | EPOLLWRNORM | (skb_queue_empty_lockless(&at->sent) ? 0 : EPOLLIN | EPOLLRDNORM);
}

static int release(struct inode *inode, struct file *file)
{
	struct interface *at = file->private_data;
	struct net *net = dev_net(at->dev);

	skb_queue_purge(&at->sent);
	at->records = false;
	forget(at);
	unregister_netdev(at->dev);
	put_net(net);
	return 0;
}

static const struct file_operations file_operations = {
	.owner = THIS_MODULE,
	.poll = poll,
	.release = release,
	.llseek = noop_llseek,
};

long rexmit_interface(const char *name, void **handle)
{
	struct net *net = current->nsproxy->net_ns;
	struct net_device *dev = alloc_netdev(sizeof(struct interface), name, NET_NAME_USER, set_up);
	long err;

	if (!dev)
		return -ENOMEM;
	dev_net_set(dev, net);
	err = register_netdev(dev);
	if (err) {
		free_netdev(dev);
		return err;
	}
	/* The namespace stays as long as the interface: else it would move to another one. */
	get_net(net);
	*handle = netdev_priv(dev);
	err = anon_inode_getfd("[rexmit]", &file_operations, *handle, O_RDWR | O_CLOEXEC);
	if (err < 0) {
		unregister_netdev(dev);
		put_net(net);
	}
	return err;
}

long rexmit_take(void *handle, void *buffer, unsigned long len)
{
	struct interface *at = handle;
	struct sk_buff *skb = skb_dequeue(&at->sent);

	if (!skb)
		return 0;
	len = min_t(unsigned long, len, skb->len);
	skb_copy_bits(skb, 0, buffer, len);
	consume_skb(skb);
	return len;
}

long rexmit_give(void *handle, const void *packet, unsigned long len)
{
	struct interface *at = handle;
	int version = len ? *(const u8 *)packet >> 4 : 0;
	struct sk_buff *skb;

	if (!(at->dev->flags & IFF_UP))
		return -EIO;
	if (version != 4 && version != 6)
		return -EINVAL;
	skb = alloc_skb(NET_SKB_PAD + len, GFP_KERNEL);
	if (!skb)
		return -ENOBUFS;
	skb_reserve(skb, NET_SKB_PAD);
	skb_put_data(skb, packet, len);
	skb->protocol = version == 4 ? htons(ETH_P_IP) : htons(ETH_P_IPV6);
	skb->dev = at->dev;
	skb_reset_mac_header(skb);
	skb_reset_network_header(skb);
	skb_record_rx_queue(skb, 0);
	local_bh_disable();
	if (at->records)
		note(at, skb, false);
	netif_receive_skb(skb);
	local_bh_enable();
	rexmit_come_back();
	return 0;
}

unsigned long long rexmit_lost(void *handle)
{
	return ((struct interface *)handle)->lost;
}

void rexmit_record(void *handle, int on)
{
	struct interface *at = handle;

	local_bh_disable();
	at->records = on;
	at->missed = 0;
	forget(at);
	local_bh_enable();
}

unsigned long rexmit_recorded(void *handle, const void **records)
{
	struct interface *at = handle;
	struct piece *first = NULL;

	local_bh_disable();
	if (!list_empty(&at->pieces)) {
		first = list_first_entry(&at->pieces, struct piece, list);
		list_del(&first->list);
		if (at->spare)
			kfree(at->read);
		else
			at->spare = at->read;
		at->read = first;
	}
	local_bh_enable();
	if (!first)
		return 0;
	*records = first->bytes;
	return first->used;
}

unsigned long long rexmit_missed(void *handle)
{
	return ((struct interface *)handle)->missed;
}
