/* A TCP that keeps one segment in flight, as stop_and_wait.py: a timer of a second that doubles. IPv4 only.
 *
 *     cc -O2 -o stop_and_wait stop_and_wait.c
 *     hosts.server.stack = { program = "./stop_and_wait" }
 */
#include <arpa/inet.h>
#include <stdio.h>

#include "rexmit_stack.h"

enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16, BUFFER = 65536, ENDS = 64, TRIES = 8 };
enum state { CLOSED, LISTEN, SYN_SENT, SYN_RECEIVED, ESTABLISHED, TIME_WAIT };
static const char *const NAMES[] = { "CLOSED", "LISTEN", "SYN-SENT", "SYN-RECEIVED", "ESTABLISHED", "TIME-WAIT" };
static const uint64_t SECOND = 1000000000;

static struct end {
    struct rexmit_opening at;
    enum state state;
    uint32_t next, expected, number; /* sent next, expected of the peer, and where what is in flight begins */
    int flags, in_flight, closing, fin_sent, peer_done, refused, tries;
    uint64_t due;
    size_t waits, flight, inbox; /* bytes: to be sent, of them in flight, and to be read */
    uint8_t out[BUFFER], in[BUFFER];
} ends[ENDS];
static uint64_t draws;
static uint32_t mss;

static uint32_t sum(uint32_t total, const uint8_t *data, size_t len) {
    for (size_t i = 0; i < len; i++) total += i & 1 ? data[i] : data[i] << 8;
    return total;
}

static uint16_t folded(uint32_t total) {
    while (total >> 16) total = (total & 65535) + (total >> 16);
    return htons(~total);
}

static void emit(struct end *end, uint32_t number, int flags, const uint8_t *data, size_t len, enum rexmit_why why) {
    static uint8_t packet[65535];
    size_t options = flags & SYN ? 4 : 0, tcp_len = 20 + options + len, room = BUFFER - end->inbox;
    uint16_t words[10] = { htons(0x4500), htons(20 + tcp_len), 0, 0, htons(64 << 8 | 6) };
    memcpy(words + 6, end->at.local.ip, 4), memcpy(words + 8, end->at.remote.ip, 4);
    words[5] = folded(sum(0, (uint8_t *)words, 20)), memcpy(packet, words, 20);
    uint32_t numbers[2] = { htonl(number), htonl(end->expected) };
    uint16_t ports[2] = { htons(end->at.local.port), htons(end->at.remote.port) };
    uint16_t rest[4] = { htons((20 + options) / 4 << 12 | flags), htons(room > 65535 ? 65535 : room), 0, 0 };
    uint8_t *tcp = packet + 20, option[4] = { 2, 4, mss >> 8, mss & 255 };
    memcpy(tcp, ports, 4), memcpy(tcp + 4, numbers, 8), memcpy(tcp + 12, rest, 8), memcpy(tcp + 20, option, options);
    if (len) memcpy(tcp + 20 + options, data, len);
    uint16_t check = folded(sum(sum(6 + tcp_len, packet + 12, 8), tcp, tcp_len));
    memcpy(tcp + 16, &check, 2), rexmit_send(packet, 20 + tcp_len, why);
}

static void again(struct end *end, uint64_t now, enum rexmit_why why) {
    emit(end, end->number, end->flags, end->out, end->flight, why);
    rexmit_timer(end->due = now + (SECOND << end->tries));
}

static void start(struct end *end, uint64_t now, int flags, size_t len) {
    end->number = end->next, end->flags = flags, end->flight = len, end->in_flight = 1, end->tries = 0;
    end->next += len + ((flags & (SYN | FIN)) != 0), again(end, now, REXMIT_AS_IT_SHOWS);
}

static void push(struct end *end, uint64_t now) {
    if (!end->in_flight && end->state > LISTEN) {
        if (end->waits) start(end, now, ACK | PSH, end->waits < mss ? end->waits : mss);
        else if (end->closing && !end->fin_sent) end->fin_sent = 1, start(end, now, ACK | FIN, 0);
    }
    const uint64_t pairs[][2] = { { REXMIT_CWND, mss }, { REXMIT_SEND_QUEUE, end->waits }, { REXMIT_RTO_NS, SECOND << end->tries } };
    rexmit_state(NAMES[end->state], pairs, 3);
}

static void over(struct end *end, enum rexmit_event event) {
    end->state = CLOSED, end->in_flight = 0, end->waits = 0, rexmit_timer(UINT64_MAX), rexmit_tell(event);
}

static void hello(const uint8_t seed[32], const char *settings) {
    const char *mtu = strstr(settings, "\"mtu\":");
    mss = (mtu ? strtoul(mtu + 6, NULL, 10) : 1500) - 40;
    memcpy(&draws, seed, 8);
}

static void open_end(const struct rexmit_opening *at) {
    if (at->end >= ENDS) fprintf(stderr, "more than %d connections\n", ENDS), exit(1);
    struct end *end = &ends[at->end];
    memset(end, 0, sizeof *end), end->at = *at, end->state = at->active ? CLOSED : LISTEN;
    end->next = (draws = draws * 6364136223846793005u + 1442695040888963407u) >> 32;
}

static void connect_end(uint64_t now, uint32_t n) { ends[n].state = SYN_SENT, start(&ends[n], now, SYN, 0); }

static void packet(uint64_t now, uint32_t n, const uint8_t *data, size_t len) {
    struct end *end = &ends[n];
    size_t header = len ? (data[0] & 15) * 4 : 0, total = len > 3 ? data[2] << 8 | data[3] : 0;
    if (end->state == CLOSED || len < 40 || header < 20 || total > len || total < header + 20) return;
    const uint8_t *tcp = data + header, *payload = tcp + (tcp[12] >> 4) * 4;
    if (payload > data + total) return;
    uint32_t number, ack, size = data + total - payload;
    memcpy(&number, tcp + 4, 4), memcpy(&ack, tcp + 8, 4), number = ntohl(number), ack = ntohl(ack);
    int flags = tcp[13];
    if (flags & RST) { over(end, REXMIT_RESET); return; }
    if (flags & SYN) {
        end->expected = number + 1;
        if (end->state == LISTEN) { end->state = SYN_RECEIVED, start(end, now, SYN | ACK, 0); return; }
        if (end->state != SYN_SENT) {
            if (end->in_flight) emit(end, end->number, end->flags, end->out, end->flight, REXMIT_AS_IT_SHOWS);
            else emit(end, end->next, ACK, NULL, 0, REXMIT_ACK);
            return;
        }
    }
    if (end->in_flight && flags & ACK && ack == end->next) {
        memmove(end->out, end->out + end->flight, end->waits -= end->flight);
        end->in_flight = 0, end->flight = 0, rexmit_timer(UINT64_MAX);
        if (end->state < ESTABLISHED) end->state = ESTABLISHED, rexmit_tell(REXMIT_CONNECTED);
        if (end->refused) end->refused = 0, rexmit_tell(REXMIT_WRITABLE);
    }
    if (number == end->expected && size && end->inbox + size <= BUFFER) {
        memcpy(end->in + end->inbox, payload, size), end->expected += size;
        rexmit_readable(end->inbox += size), rexmit_tell(REXMIT_READABLE);
    }
    if (flags & FIN && number + size == end->expected && !end->peer_done)
        end->expected++, end->peer_done = 1, rexmit_tell(REXMIT_END_OF_STREAM);
    if (size || flags & (SYN | FIN)) emit(end, end->next, ACK, NULL, 0, REXMIT_AS_IT_SHOWS);
    push(end, now);
    if (end->state == ESTABLISHED && end->peer_done && end->fin_sent && !end->in_flight)
        end->state = TIME_WAIT, rexmit_tell(REXMIT_CLOSED);
}

static void timer(uint64_t now, uint32_t n) {
    if (!ends[n].in_flight || now < ends[n].due) return;
    if (++ends[n].tries > TRIES) over(&ends[n], REXMIT_TIMED_OUT);
    else again(&ends[n], now, REXMIT_TIMEOUT);
}

static uint32_t write_end(uint64_t now, uint32_t n, const struct rexmit_how *how, const uint8_t *data, size_t len) {
    struct end *end = &ends[n];
    size_t room = end->closing || end->state == CLOSED ? 0 : BUFFER - end->waits, taken = len < room ? len : room;
    (void)how, end->refused = taken < len;
    memcpy(end->out + end->waits, data, taken), end->waits += taken, push(end, now);
    return taken;
}

static void read_end(uint64_t now, uint32_t n, uint32_t most) {
    struct end *end = &ends[n];
    size_t len = most < end->inbox ? most : end->inbox;
    int full = end->inbox + mss > BUFFER;
    (void)now, rexmit_data(0, UINT64_MAX, 0, end->in, len);
    memmove(end->in, end->in + len, end->inbox -= len), rexmit_readable(end->inbox);
    if (full && end->state == ESTABLISHED) emit(end, end->next, ACK, NULL, 0, REXMIT_ACK);
}

static void close_end(uint64_t now, uint32_t n) {
    ends[n].closing = 1;
    if (ends[n].state <= LISTEN) over(&ends[n], REXMIT_CLOSED);
    push(&ends[n], now);
}

static void abort_end(uint64_t now, uint32_t n) {
    (void)now;
    if (ends[n].state > LISTEN) emit(&ends[n], ends[n].next, RST | ACK, NULL, 0, REXMIT_RST);
    over(&ends[n], REXMIT_CLOSED);
}

int main(void) {
    const struct rexmit_stack stack = { "stop-and-wait", "1", "tcp", 1, hello, open_end, connect_end, packet, timer, write_end,
                                        read_end, close_end, abort_end };
    return rexmit_serve(&stack);
}
