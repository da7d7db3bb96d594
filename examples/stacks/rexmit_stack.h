/* The far side of rexmit's protocol for stacks that are programs, version 1, in one header.
 *
 * Define the handlers of `struct rexmit_stack` and call rexmit_serve(). rexmit calls one handler at a time; `now` is the run's
 * time in nanoseconds. While it is called, a stack says what it does by rexmit_send(), rexmit_tell(), rexmit_timer(),
 * rexmit_readable() and rexmit_state(). It must read no clock and draw random numbers from the seed of the run alone.
 *
 * A stack that knows datagrams of QUIC defines REXMIT_KNOWS_DATAGRAMS before it includes this.
 *
 * docs/reference/stack-protocol.md describes the bytes. POSIX, C99, little-endian or big-endian. Licence: MIT.
 */
#ifndef REXMIT_STACK_H
#define REXMIT_STACK_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REXMIT_VERSION = 1, REXMIT_LINE = 3 };

enum rexmit_event {
    REXMIT_CONNECTED, REXMIT_WRITABLE, REXMIT_READABLE, REXMIT_END_OF_STREAM, REXMIT_CLOSED, REXMIT_RESET, REXMIT_TIMED_OUT
};

enum rexmit_why {
    REXMIT_AS_IT_SHOWS, REXMIT_NEW, REXMIT_TIMEOUT, REXMIT_LOSS, REXMIT_PROBE, REXMIT_ACK, REXMIT_CONTROL, REXMIT_RST,
    /* Added to them, of QUIC: it carries data of streams for the first time, and such that were sent before. */
    REXMIT_NEW_DATA = 16, REXMIT_REPEATS = 32,
    /* It carries a datagram. */
    REXMIT_DATAGRAM = 64
};

/* Fields of a state, for rexmit_state(). */
enum rexmit_field {
    REXMIT_CWND, REXMIT_SSTHRESH, REXMIT_IN_FLIGHT, REXMIT_SND_WND, REXMIT_SEND_QUEUE, REXMIT_RECV_QUEUE, REXMIT_SRTT_NS,
    REXMIT_RTTVAR_NS, REXMIT_RTO_NS, REXMIT_REXMT_DUE_NS, REXMIT_PHASE, REXMIT_TIMEOUTS, REXMIT_FAST_RETRANSMITS,
    REXMIT_DUP_ACKS
};

/* An address as in an IP header, of `family` 4 or 6. */
struct rexmit_address { uint8_t family, ip[16]; uint16_t port; };

/* What an end is made from. */
struct rexmit_opening {
    uint32_t end; int active; uint16_t streams; struct rexmit_address local, remote;
    int datagrams; /* of QUIC: the application's writes are datagrams */
};

/* How what the application writes is to be delivered; all ones: without limit. A datagram of QUIC is taken whole or not at all,
 * and is never sent again. */
struct rexmit_how { uint16_t stream; int unordered; uint32_t max_retransmits; uint64_t lifetime_ns, place; int datagram; };

struct rexmit_stack {
    const char *name, *build, *protocols; /* "tcp", or several with blanks between */
    int forgets;                          /* it serves one run after the other */
    void (*hello)(const uint8_t seed[32], const char *settings);
    void (*open)(const struct rexmit_opening *opening);
    void (*connect)(uint64_t now, uint32_t end);
    void (*packet)(uint64_t now, uint32_t end, const uint8_t *data, size_t len);
    void (*timer)(uint64_t now, uint32_t end);
    uint32_t (*write)(uint64_t now, uint32_t end, const struct rexmit_how *how, const uint8_t *data, size_t len);
    void (*read)(uint64_t now, uint32_t end, uint32_t most); /* answers by rexmit_data() */
    void (*close)(uint64_t now, uint32_t end);
    void (*abort)(uint64_t now, uint32_t end);
};

static struct { uint8_t *bytes; size_t len, room; } rexmit_out;

static inline void rexmit_put(const void *bytes, size_t len) {
    if (rexmit_out.len + len > rexmit_out.room) {
        rexmit_out.room = 2 * (rexmit_out.len + len);
        rexmit_out.bytes = realloc(rexmit_out.bytes, rexmit_out.room);
        if (!rexmit_out.bytes) _exit(1);
    }
    if (len) memcpy(rexmit_out.bytes + rexmit_out.len, bytes, len);
    rexmit_out.len += len;
}

static inline void rexmit_number(uint64_t number, int size) {
    for (uint8_t byte; size-- > 0; number >>= 8) byte = number & 255, rexmit_put(&byte, 1);
}

static inline uint64_t rexmit_get(const uint8_t *from, int size) {
    uint64_t number = 0;
    while (size-- > 0) number = number << 8 | from[size];
    return number;
}

static inline void rexmit_item(int type, size_t len) { rexmit_number(type, 1), rexmit_number(len, 4); }

static inline void rexmit_text(int type, const char *text) {
    if (text) rexmit_item(type, strlen(text)), rexmit_put(text, strlen(text));
}

/* An IP packet leaves. */
static inline void rexmit_send(const uint8_t *packet, size_t len, enum rexmit_why why) {
    rexmit_item(3, len + 1), rexmit_number(why, 1), rexmit_put(packet, len);
}

/* The application should know of an event. */
static inline void rexmit_tell(enum rexmit_event event) { rexmit_item(4, 1), rexmit_number(event, 1); }

/* So many bytes wait for a read. */
static inline void rexmit_readable(uint64_t count) { rexmit_item(5, 8), rexmit_number(count, 8); }

/* Call `timer` at this time of the run; UINT64_MAX: no more. */
static inline void rexmit_timer(uint64_t at) {
    rexmit_item(6, 9), rexmit_number(at != UINT64_MAX, 1), rexmit_number(at, 8);
}

/* Call `timer` every so many nanoseconds. */
static inline void rexmit_tick(uint64_t every) { rexmit_item(6, 9), rexmit_number(2, 1), rexmit_number(every, 8); }

/* What a read gives: `place` UINT64_MAX for what follows that read before. */
static inline void rexmit_data(uint16_t stream, uint64_t place, int ends, const uint8_t *data, size_t len) {
    rexmit_item(2, 11 + len), rexmit_number(stream, 2), rexmit_number(place, 8), rexmit_number(ends, 1);
    rexmit_put(data, len);
}

/* A read gives a datagram, whole. */
static inline void rexmit_datagram(const uint8_t *data, size_t len) { rexmit_data(0, UINT64_MAX, 2, data, len); }

/* The datagram that is written is too long: so many bytes would fit now. */
static inline void rexmit_limit(uint32_t most) { rexmit_item(9, 4), rexmit_number(most, 4); }

/* The end's state: its name, and `count` pairs of a field and its value. */
static inline void rexmit_state(const char *name, const uint64_t (*pairs)[2], size_t count) {
    rexmit_item(7, 1 + strlen(name) + 9 * count);
    rexmit_number(strlen(name), 1), rexmit_put(name, strlen(name));
    for (size_t i = 0; i < count; i++) rexmit_number(pairs[i][0], 1), rexmit_number(pairs[i][1], 8);
}

/* New lines of NSS's key log. */
static inline void rexmit_secrets(const char *lines) { rexmit_text(8, lines); }

/* Records of the connection's qlog (RFC 7464), each whole, where the settings of HELLO ask for them ("qlog": true). */
static inline void rexmit_qlog(const uint8_t *records, size_t len) { rexmit_item(10, len), rexmit_put(records, len); }

static inline const uint8_t *rexmit_address_from(const uint8_t *from, int family, struct rexmit_address *to) {
    int size = family == 4 ? 4 : 16;
    to->family = family, memcpy(to->ip, from, size), to->port = rexmit_get(from + size, 2);
    return from + size + 2;
}

/* Says what a call asks for; 0 for a kind that is none. */
static inline int rexmit_called(const struct rexmit_stack *stack, int kind, const uint8_t *body, size_t len) {
    if (kind == 1) {
        stack->hello(body + 2, (const char *)body + 34);
        rexmit_item(16, 2), rexmit_number(REXMIT_VERSION, 2);
        rexmit_text(17, stack->name), rexmit_text(18, stack->build), rexmit_text(19, stack->protocols);
        if (stack->forgets) rexmit_item(20, 0);
#ifdef REXMIT_KNOWS_DATAGRAMS
        rexmit_item(128, 0);
#endif
        return 1;
    }
    if (kind == 10) return 1;
    uint64_t now = rexmit_get(body, 8);
    uint32_t end = rexmit_get(body + 8, 4);
    body += 12, len -= 12;
    if (kind == 2) {
        struct rexmit_opening opening = { end, !(body[0] & 1), rexmit_get(body + 1, 2), { 0 }, { 0 }, body[0] >> 1 & 1 };
        const uint8_t *next = rexmit_address_from(body + 4, body[3], &opening.local);
        rexmit_address_from(next, body[3], &opening.remote), stack->open(&opening);
    } else if (kind == 3) stack->connect(now, end);
    else if (kind == 4) stack->packet(now, end, body, len);
    else if (kind == 5) stack->timer(now, end);
    else if (kind == 6) {
        struct rexmit_how how = { rexmit_get(body, 2), body[2] & 1, rexmit_get(body + 3, 4), rexmit_get(body + 7, 8),
                                  rexmit_get(body + 15, 8), body[2] >> 1 & 1 };
        uint32_t taken = stack->write(now, end, &how, body + 23, len - 23);
        rexmit_item(1, 4), rexmit_number(taken, 4);
    } else if (kind == 7) stack->read(now, end, rexmit_get(body, 4));
    else if (kind == 8) stack->close(now, end);
    else if (kind == 9) stack->abort(now, end);
    else return 0;
    return 1;
}

/* Reads or writes all; 0 where rexmit is gone. */
static inline int rexmit_whole(uint8_t *bytes, size_t len, int out) {
    while (len) {
        ssize_t moved = out ? write(REXMIT_LINE, bytes, len) : read(REXMIT_LINE, bytes, len);
        if (moved <= 0) return 0;
        bytes += moved, len -= moved;
    }
    return 1;
}

/* Answers rexmit until it is gone; the exit code of the program. */
static inline int rexmit_serve(const struct rexmit_stack *stack) {
    static uint8_t in[1 << 16];
    size_t room = 0, have = 0;
    uint8_t *call = NULL;
    for (;;) {
        /* One read usually brings the whole of a call. */
        ssize_t got = read(REXMIT_LINE, in + have, sizeof in - have);
        if (got <= 0) return 0;
        have += got;
        if (have < 4) continue;
        size_t len = rexmit_get(in, 4);
        if (len + 1 > room && !(call = realloc(call, room = len + 1))) return 1;
        size_t here = have - 4 < len ? have - 4 : len;
        memcpy(call, in + 4, here);
        if (!rexmit_whole(call + here, len - here, 0)) return 0;
        call[len] = 0; /* settings are text */
        have = 0, rexmit_out.len = 0;
        rexmit_number(0, 4), rexmit_number(call[0] | 128, 1);
        if (!rexmit_called(stack, call[0], call + 1, len - 1)) return 1;
        size_t total = rexmit_out.len - 4;
        for (int i = 0; i < 4; i++) rexmit_out.bytes[i] = total >> 8 * i & 255;
        if (!rexmit_whole(rexmit_out.bytes, rexmit_out.len, 1)) return 0;
    }
}

#endif
