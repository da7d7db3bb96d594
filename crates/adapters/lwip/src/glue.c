/* What knows the library's structures, compiled with the library's own headers. It calls the copy that is at work through
 * addresses (calls.h, from build.rs), and is called by it; `ffi.rs` has the other side of each declaration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lwip/init.h"
#include "lwip/ip.h"
#include "lwip/netif.h"
#include "lwip/pbuf.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/tcp.h"
#include "lwip/timeouts.h"

#if !LWIP_CALLBACK_API || !LWIP_IPV4 || !LWIP_IPV6 || !LWIP_WND_SCALE || !LWIP_NETIF_TX_SINGLE_PBUF
#error "the library is built with other options than those that are known here"
#endif

struct calls {
#define CALL(name) __typeof__(&name) name;
#include "calls.h"
#undef CALL
};

struct place {
  u8_t address[16];
  u8_t is_v6;
  u16_t port;
};

struct wish {
  u32_t send_buffer;
  u32_t receive_buffer;
  u8_t nagle;
  u8_t tos;
};

struct look {
  u32_t state, cwnd, ssthresh, snd_wnd, in_flight, queued, send_room;
  u32_t srtt, rttvar, rto, backoff, duplicates, probes, recovers, phase;
};

/* Phases of a sender, as ffi.rs numbers them. */
enum phase { OPEN, DISORDER, RECOVERY, LOSS };

/* What the host at work is told; each end is a number. */
void rexmit_lwip_leaves(const void *packet, size_t len);
void rexmit_lwip_born(void *pcb, struct wish *wish);
void rexmit_lwip_gone(void *pcb);
size_t rexmit_lwip_accepted(void *pcb);
u16_t rexmit_lwip_mss(void);
void *rexmit_lwip_pcb(struct wish *wish);
void rexmit_lwip_connected(size_t end);
void rexmit_lwip_received(size_t end, const void *bytes, size_t len);
void rexmit_lwip_ended(size_t end);
void rexmit_lwip_acknowledged(size_t end);
void rexmit_lwip_broken(size_t end, int why);
void rexmit_lwip_failed(const char *why);

static __thread const struct calls *library;
/* A smaller window may take the place of the library's (below). */
static __thread int narrows;

/* --- Where the library gives up ---
 *
 * It would end the process. Here the call that led there is over, and so is the host. What is passed over on the way back
 * are functions of C alone. */

static __thread jmp_buf out;
static __thread char said[256];

#define OR_FAILS(result) \
  do { \
    if (_setjmp(out)) { \
      return result; \
    } \
  } while (0)

/* `printf`, with which an assertion says why it fails. */
int rexmit_lwip_say(int flag, const char *format, ...) {
  va_list arguments;
  (void)flag;
  va_start(arguments, format);
  vsnprintf(said, sizeof(said), format, arguments);
  va_end(arguments);
  return 0;
}

/* `abort`, and all that no host here lets it do: threads, files, the end of the process. */
void rexmit_lwip_stop(void) {
  narrows = 0;
  rexmit_lwip_failed(said[0] ? said : "it asked for what it has not here");
  said[0] = 0;
  longjmp(out, 1);
}

void rexmit_lwip_at_work(const struct calls *calls) { library = calls; }

size_t rexmit_lwip_netif_size(void) { return sizeof(struct netif); }

void rexmit_lwip_start(void) {
  OR_FAILS();
  library->lwip_init();
}

/* --- Interfaces --- */

static err_t leaves(struct pbuf *packet) {
  /* The library is built so that a packet is one piece. */
  rexmit_lwip_leaves(packet->payload, packet->len);
  return ERR_OK;
}

static err_t leaves_v4(struct netif *netif, struct pbuf *packet, const ip4_addr_t *to) {
  (void)netif, (void)to;
  return leaves(packet);
}

static err_t leaves_v6(struct netif *netif, struct pbuf *packet, const ip6_addr_t *to) {
  (void)netif, (void)to;
  return leaves(packet);
}

static err_t begin(struct netif *netif) {
  netif->name[0] = 'r';
  netif->name[1] = 'x';
  netif->mtu = netif->mtu6 = (u16_t)(size_t)netif->state;
  netif->output = leaves_v4;
  netif->output_ip6 = leaves_v6;
  return ERR_OK;
}

static ip_addr_t address_of(const struct place *place) {
  ip_addr_t address;
  memset(&address, 0, sizeof(address));
  if (place->is_v6) {
    memcpy(ip_2_ip6(&address)->addr, place->address, 16);
    IP_SET_TYPE_VAL(address, IPADDR_TYPE_V6);
  } else {
    memcpy(&ip_2_ip4(&address)->addr, place->address, 4);
    IP_SET_TYPE_VAL(address, IPADDR_TYPE_V4);
  }
  return address;
}

/* An interface with this address; all that goes elsewhere may leave through it. `netif` has zeros in it. */
int rexmit_lwip_add_address(struct netif *netif, const struct place *place, u16_t mtu) {
  OR_FAILS(0);
  ip_addr_t address = address_of(place);
  ip4_addr_t none = {0}, all = {0xffffffff};
  void *state = (void *)(size_t)mtu;
  const ip4_addr_t *own = place->is_v6 ? &none : ip_2_ip4(&address);
  if (!library->netif_add(netif, own, place->is_v6 ? &none : &all, &none, state, begin, library->ip_input)) {
    return 0;
  }
  library->netif_set_link_up(netif);
  library->netif_set_up(netif);
  library->netif_set_default(netif);
  if (place->is_v6) {
    /* Number 0 is for an address of the link. */
    library->netif_ip6_addr_set(netif, 1, ip_2_ip6(&address));
    library->netif_ip6_addr_set_state(netif, 1, IP6_ADDR_PREFERRED);
  }
  return 1;
}

/* --- The receive window ---
 *
 * The library has one size for all windows, and makes sure of it when it reads that the peer scales (`tcp_parseopt`). So a
 * smaller one takes its place as soon as the options are read, before anything leaves: the library then asks how large
 * segments may be. */

static void narrow(void) {
  struct wish wish;
  struct tcp_pcb *pcb = rexmit_lwip_pcb(&wish);
  if (pcb && pcb->state <= SYN_RCVD && pcb->rcv_wnd > wish.receive_buffer) {
    pcb->rcv_wnd = pcb->rcv_ann_wnd = wish.receive_buffer;
  }
}

/* A packet has come. */
void rexmit_lwip_arrives(struct netif *netif, const void *bytes, u16_t len) {
  OR_FAILS();
  struct pbuf *packet = library->pbuf_alloc(PBUF_RAW, len, PBUF_RAM);
  if (!packet) {
    return;
  }
  library->pbuf_take(packet, bytes, len);
  narrows = 1;
  if (library->ip_input(packet, netif) != ERR_OK) {
    library->pbuf_free(packet);
  }
  narrows = 0;
}

/* --- Connections --- */

static err_t received(void *end, struct tcp_pcb *pcb, struct pbuf *data, err_t err) {
  (void)pcb, (void)err;
  if (!data) {
    rexmit_lwip_ended((size_t)end);
    return ERR_OK;
  }
  for (struct pbuf *part = data; part; part = part->next) {
    rexmit_lwip_received((size_t)end, part->payload, part->len);
  }
  library->pbuf_free(data);
  return ERR_OK;
}

static err_t acknowledged(void *end, struct tcp_pcb *pcb, u16_t len) {
  (void)pcb, (void)len;
  rexmit_lwip_acknowledged((size_t)end);
  return ERR_OK;
}

static void broken(void *end, err_t why) { rexmit_lwip_broken((size_t)end, why); }

static err_t connected(void *end, struct tcp_pcb *pcb, err_t err) {
  (void)pcb, (void)err;
  rexmit_lwip_connected((size_t)end);
  return ERR_OK;
}

static void belongs_to(struct tcp_pcb *pcb, size_t end) {
  library->tcp_arg(pcb, (void *)end);
  library->tcp_recv(pcb, received);
  library->tcp_sent(pcb, acknowledged);
  library->tcp_err(pcb, broken);
}

static err_t accepted(void *none, struct tcp_pcb *pcb, err_t err) {
  (void)none;
  if (err != ERR_OK || !pcb) {
    return ERR_VAL;
  }
  size_t end = rexmit_lwip_accepted(pcb);
  if (end == (size_t)-1) {
    return ERR_VAL;
  }
  belongs_to(pcb, end);
  rexmit_lwip_connected(end);
  return ERR_OK;
}

static struct tcp_pcb *bound(const struct place *local) {
  struct tcp_pcb *pcb = library->tcp_new_ip_type(local->is_v6 ? IPADDR_TYPE_V6 : IPADDR_TYPE_V4);
  if (!pcb) {
    return NULL;
  }
  ip_addr_t address = address_of(local);
  ip_set_option(pcb, SOF_REUSEADDR);
  if (library->tcp_bind(pcb, &address, local->port) != ERR_OK) {
    library->tcp_abort(pcb);
    return NULL;
  }
  return pcb;
}

int rexmit_lwip_connect(size_t end, const struct place *local, const struct place *remote) {
  OR_FAILS(0);
  struct tcp_pcb *pcb = bound(local);
  if (!pcb) {
    return 0;
  }
  ip_addr_t address = address_of(remote);
  belongs_to(pcb, end);
  narrows = 1;
  err_t err = library->tcp_connect(pcb, &address, remote->port, connected);
  narrows = 0;
  if (err != ERR_OK) {
    library->tcp_abort(pcb);
    return 0;
  }
  pcb->rcv_wnd = pcb->rcv_ann_wnd = TCPWND_MIN16(TCP_WND); /* until the peer's options are there */
  return 1;
}

int rexmit_lwip_listen(const struct place *local) {
  OR_FAILS(0);
  struct tcp_pcb *pcb = bound(local);
  struct tcp_pcb *listener = pcb ? library->tcp_listen_with_backlog(pcb, 255) : NULL;
  if (!listener) {
    return 0;
  }
  library->tcp_accept(listener, accepted);
  return 1;
}

/* Bytes of `len` that it takes, by the room that it has and may have. */
u16_t rexmit_lwip_write(struct tcp_pcb *pcb, const void *bytes, u16_t len, int more) {
  OR_FAILS(0);
  u8_t flags = TCP_WRITE_FLAG_COPY;
  if (pcb->snd_buf < len) {
    len = (u16_t)pcb->snd_buf;
    more = 1;
  }
  if (more) {
    flags |= TCP_WRITE_FLAG_MORE;
  }
  /* It says ERR_MEM where its queue is full, too. */
  return len > 0 && library->tcp_write(pcb, bytes, len, flags) == ERR_OK ? len : 0;
}

void rexmit_lwip_output(struct tcp_pcb *pcb) {
  OR_FAILS();
  library->tcp_output(pcb);
}

void rexmit_lwip_read(struct tcp_pcb *pcb, u16_t len) {
  OR_FAILS();
  library->tcp_recved(pcb, len);
}

/* Its own half is over. */
void rexmit_lwip_shut(struct tcp_pcb *pcb) {
  OR_FAILS();
  library->tcp_shutdown(pcb, 0, 1);
}

void rexmit_lwip_abort(struct tcp_pcb *pcb) {
  OR_FAILS();
  library->tcp_abort(pcb);
}

void rexmit_lwip_look(const struct tcp_pcb *pcb, struct look *look) {
  look->state = pcb->state;
  look->cwnd = pcb->cwnd;
  look->ssthresh = pcb->ssthresh;
  look->snd_wnd = pcb->snd_wnd;
  look->in_flight = pcb->snd_nxt - pcb->lastack;
  look->queued = pcb->snd_lbb - pcb->lastack;
  look->send_room = pcb->snd_buf;
  look->srtt = (u32_t)(pcb->sa > 0 ? pcb->sa : 0);
  look->rttvar = (u32_t)(pcb->sv > 0 ? pcb->sv : 0);
  look->rto = (u32_t)pcb->rto;
  look->backoff = pcb->nrtx;
  look->duplicates = pcb->dupacks;
  look->probes = pcb->persist_backoff;
  look->recovers = (pcb->flags & TF_INFR) != 0;
  look->phase = (pcb->flags & TF_RTO) || pcb->nrtx ? LOSS
                : (pcb->flags & TF_INFR)           ? RECOVERY
                : pcb->dupacks                     ? DISORDER
                                                   : OPEN;
}

/* --- Time --- */

void rexmit_lwip_expire(void) {
  OR_FAILS();
  library->sys_check_timeouts();
}

u32_t rexmit_lwip_sleep(void) { return library->sys_timeouts_sleeptime(); }

/* --- Functions of the library that come here first --- */

struct tcp_pcb *rexmit_lwip_tcp_alloc(u8_t prio) {
  struct tcp_pcb *pcb = library->tcp_alloc(prio);
  if (pcb) {
    struct wish wish;
    rexmit_lwip_born(pcb, &wish);
    pcb->snd_buf = wish.send_buffer;
    pcb->tos = wish.tos;
    if (!wish.nagle) {
      tcp_nagle_disable(pcb);
    }
  }
  return pcb;
}

void rexmit_lwip_tcp_free(struct tcp_pcb *pcb) {
  rexmit_lwip_gone(pcb);
  library->tcp_free(pcb);
}

u16_t rexmit_lwip_tcp_eff_send_mss_netif(u16_t mss, struct netif *netif, const ip_addr_t *to) {
  u16_t effective = library->tcp_eff_send_mss_netif(mss, netif, to), most = rexmit_lwip_mss();
  if (narrows) {
    narrow();
  }
  return LWIP_MIN(effective, most);
}
