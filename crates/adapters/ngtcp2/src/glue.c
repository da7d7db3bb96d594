/* What knows the library's structures, compiled with the library's own headers. It calls the library and is called by it;
 * `ffi.rs` has the other side of each declaration. */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ngtcp2/ngtcp2.h>

#if NGTCP2_VERSION_NUM != 0x000c01
#error "the library is not ngtcp2 0.12.1, whose interface is known here"
#endif

/* Bytes of a tag of TLS's ciphers, of a sample of a packet, and of a nonce. */
enum { TAG = 16, SAMPLE = 16, NONCE = 12 };
/* More than the answers of the library to a call that failed an assertion. */
enum { GAVE_UP = -1000 };

struct settings {
  int server;
  int congestion;
  uint64_t now;
  uint64_t initial_rtt;
  uint64_t handshake_timeout;
  uint64_t idle_timeout;
  uint64_t keep_alive;
  uint64_t max_ack_delay;
  uint64_t ack_threshold;
  uint64_t receive_window;
  uint64_t most_receive_window;
  uint64_t stream_window;
  uint64_t most_stream_window;
  uint64_t streams;
  uint64_t payload;
  int mtu_discovery;
  int datagrams;
  int qlog;
};

struct place {
  uint8_t address[16];
  uint8_t is_v6;
  uint16_t port;
};

struct look {
  uint64_t cwnd, ssthresh, in_flight, window, rtt, rttvar, has_rtt, pto, pto_count, due;
};

/* What the end at work is asked and told. */
int rexmit_ngtcp2_seal(void *key, uint64_t number, const uint8_t *head, size_t head_len, uint8_t *text, size_t len);
int rexmit_ngtcp2_open(void *key, uint64_t number, const uint8_t *head, size_t head_len, uint8_t *text, size_t len);
int rexmit_ngtcp2_mask(void *key, const uint8_t *sample, uint8_t *mask);
void rexmit_ngtcp2_drop_packet_key(void *key);
void rexmit_ngtcp2_drop_header_key(void *key);
int rexmit_ngtcp2_begin(ngtcp2_conn *conn, const uint8_t *id, size_t len);
int rexmit_ngtcp2_handshake(ngtcp2_conn *conn, const uint8_t *data, size_t len);
int rexmit_ngtcp2_next_keys(void **opens, void **seals);
void rexmit_ngtcp2_random(uint8_t *bytes, size_t len);
void rexmit_ngtcp2_connected(void);
void rexmit_ngtcp2_rejected(void);
void rexmit_ngtcp2_opened(int64_t stream);
void rexmit_ngtcp2_received(int64_t stream, const uint8_t *data, size_t len, int fin);
void rexmit_ngtcp2_acknowledged(int64_t stream, uint64_t len);
void rexmit_ngtcp2_closed(int64_t stream);
void rexmit_ngtcp2_has_room(int64_t stream);
void rexmit_ngtcp2_datagram(const uint8_t *data, size_t len);
void rexmit_ngtcp2_logged(const uint8_t *data, size_t len);

/* --- Where the library gives up ---
 *
 * A failed assertion would end the process. Here the call that led there is over, and so is the connection, which must not
 * be touched again. Calls stand within calls (a callback installs keys); each ends by itself, so what is passed over on the
 * way back are functions of C alone. */

static __thread jmp_buf *out;
static __thread char said[256];

/* `stderr` of functions that nobody calls, which a shared object could not reach. */
__attribute__((visibility("hidden"))) FILE *rexmit_ngtcp2_stderr;

__attribute__((noreturn)) static void leave(void) {
  if (!out) {
    abort();
  }
  longjmp(*out, 1);
}

/* `abort`. */
__attribute__((noreturn)) void rexmit_ngtcp2_stop(void) {
  snprintf(said, sizeof(said), "it came where it never should");
  leave();
}

/* `__assert_fail`. */
__attribute__((noreturn)) void rexmit_ngtcp2_assert(const char *what, const char *file, unsigned line, const char *function) {
  (void)function;
  snprintf(said, sizeof(said), "assertion failed in %s, line %u: %s", file, line, what);
  leave();
}

/* Why it has given up, the last time in this thread. */
const char *rexmit_ngtcp2_said(void) { return said; }

#define GUARDED(type, call)                 \
  do {                                      \
    jmp_buf here, *before = out;            \
    volatile type result = GAVE_UP;         \
    out = &here;                            \
    if (_setjmp(here) == 0) {               \
      result = (call);                      \
    }                                       \
    out = before;                           \
    return result;                          \
  } while (0)

/* --- The library's questions --- */

static uint64_t number_of(const uint8_t *nonce) {
  /* The vectors given to the library are zeros, so the nonce is the packet's number (RFC 9001, section 5.3). */
  uint64_t number = 0;
  for (int i = NONCE - 8; i < NONCE; ++i) {
    number = number << 8 | nonce[i];
  }
  return number;
}

static int seal(uint8_t *dest, const ngtcp2_crypto_aead *aead, const ngtcp2_crypto_aead_ctx *key, const uint8_t *text,
                size_t len, const uint8_t *nonce, size_t nonce_len, const uint8_t *head, size_t head_len) {
  (void)aead;
  if (!key->native_handle || nonce_len != NONCE) {
    return NGTCP2_ERR_CALLBACK_FAILURE;
  }
  memmove(dest, text, len);
  return rexmit_ngtcp2_seal(key->native_handle, number_of(nonce), head, head_len, dest, len);
}

static int open(uint8_t *dest, const ngtcp2_crypto_aead *aead, const ngtcp2_crypto_aead_ctx *key, const uint8_t *text,
                size_t len, const uint8_t *nonce, size_t nonce_len, const uint8_t *head, size_t head_len) {
  (void)aead;
  if (!key->native_handle || nonce_len != NONCE || len < TAG) {
    return NGTCP2_ERR_DECRYPT;
  }
  /* The library's buffer holds as much as the packet. */
  memcpy(dest, text, len);
  return rexmit_ngtcp2_open(key->native_handle, number_of(nonce), head, head_len, dest, len) ? NGTCP2_ERR_DECRYPT : 0;
}

static int mask(uint8_t *dest, const ngtcp2_crypto_cipher *cipher, const ngtcp2_crypto_cipher_ctx *key,
                const uint8_t *sample) {
  (void)cipher;
  return rexmit_ngtcp2_mask(key->native_handle, sample, dest) ? NGTCP2_ERR_CALLBACK_FAILURE : 0;
}

static void drop_packet_key(ngtcp2_conn *conn, ngtcp2_crypto_aead_ctx *key, void *data) {
  (void)conn, (void)data;
  if (key->native_handle) {
    rexmit_ngtcp2_drop_packet_key(key->native_handle);
  }
}

static void drop_header_key(ngtcp2_conn *conn, ngtcp2_crypto_cipher_ctx *key, void *data) {
  (void)conn, (void)data;
  if (key->native_handle) {
    rexmit_ngtcp2_drop_header_key(key->native_handle);
  }
}

#define ANSWER(call) return (call) ? NGTCP2_ERR_CALLBACK_FAILURE : 0

static int client_initial(ngtcp2_conn *conn, void *data) {
  const ngtcp2_cid *id = ngtcp2_conn_get_dcid(conn);
  (void)data;
  ANSWER(rexmit_ngtcp2_begin(conn, id->data, id->datalen));
}

static int recv_client_initial(ngtcp2_conn *conn, const ngtcp2_cid *id, void *data) {
  (void)data;
  ANSWER(rexmit_ngtcp2_begin(conn, id->data, id->datalen));
}

static int recv_crypto_data(ngtcp2_conn *conn, ngtcp2_crypto_level level, uint64_t offset, const uint8_t *bytes, size_t len,
                            void *data) {
  int answer = rexmit_ngtcp2_handshake(conn, bytes, len);
  (void)level, (void)offset, (void)data;
  if (answer > 0) {
    ngtcp2_conn_set_tls_alert(conn, (uint8_t)answer);
    return NGTCP2_ERR_CRYPTO;
  }
  ANSWER(answer);
}

/* No server here asks for another try. */
static int recv_retry(ngtcp2_conn *conn, const ngtcp2_pkt_hd *head, void *data) {
  (void)conn, (void)head, (void)data;
  return NGTCP2_ERR_CALLBACK_FAILURE;
}

static int version_negotiation(ngtcp2_conn *conn, uint32_t version, const ngtcp2_cid *id, void *data) {
  (void)conn, (void)version, (void)id, (void)data;
  return NGTCP2_ERR_CALLBACK_FAILURE;
}

static int update_key(ngtcp2_conn *conn, uint8_t *rx_secret, uint8_t *tx_secret, ngtcp2_crypto_aead_ctx *rx, uint8_t *rx_iv,
                      ngtcp2_crypto_aead_ctx *tx, uint8_t *tx_iv, const uint8_t *rx_old, const uint8_t *tx_old, size_t len,
                      void *data) {
  (void)conn, (void)rx_old, (void)tx_old, (void)data;
  memset(rx_secret, 0, len);
  memset(tx_secret, 0, len);
  memset(rx_iv, 0, NONCE);
  memset(tx_iv, 0, NONCE);
  ANSWER(rexmit_ngtcp2_next_keys(&rx->native_handle, &tx->native_handle));
}

static void random_bytes(uint8_t *bytes, size_t len, const ngtcp2_rand_ctx *context) {
  (void)context;
  rexmit_ngtcp2_random(bytes, len);
}

static int new_connection_id(ngtcp2_conn *conn, ngtcp2_cid *id, uint8_t *token, size_t len, void *data) {
  (void)conn, (void)data;
  id->datalen = len;
  rexmit_ngtcp2_random(id->data, len);
  rexmit_ngtcp2_random(token, NGTCP2_STATELESS_RESET_TOKENLEN);
  return 0;
}

static int path_challenge(ngtcp2_conn *conn, uint8_t *bytes, void *data) {
  (void)conn, (void)data;
  rexmit_ngtcp2_random(bytes, NGTCP2_PATH_CHALLENGE_DATALEN);
  return 0;
}

static int handshake_completed(ngtcp2_conn *conn, void *data) {
  (void)conn, (void)data;
  rexmit_ngtcp2_connected();
  return 0;
}

static int early_data_rejected(ngtcp2_conn *conn, void *data) {
  (void)conn, (void)data;
  rexmit_ngtcp2_rejected();
  return 0;
}

static int stream_open(ngtcp2_conn *conn, int64_t stream, void *data) {
  (void)conn, (void)data;
  rexmit_ngtcp2_opened(stream);
  return 0;
}

static int recv_stream_data(ngtcp2_conn *conn, uint32_t flags, int64_t stream, uint64_t offset, const uint8_t *bytes,
                            size_t len, void *data, void *stream_data) {
  (void)conn, (void)offset, (void)data, (void)stream_data;
  rexmit_ngtcp2_received(stream, bytes, len, (flags & NGTCP2_STREAM_DATA_FLAG_FIN) != 0);
  return 0;
}

static int acked_stream_data(ngtcp2_conn *conn, int64_t stream, uint64_t offset, uint64_t len, void *data,
                             void *stream_data) {
  (void)conn, (void)offset, (void)data, (void)stream_data;
  rexmit_ngtcp2_acknowledged(stream, len);
  return 0;
}

static int stream_close(ngtcp2_conn *conn, uint32_t flags, int64_t stream, uint64_t code, void *data, void *stream_data) {
  (void)conn, (void)flags, (void)code, (void)data, (void)stream_data;
  rexmit_ngtcp2_closed(stream);
  return 0;
}

static int extend_max_stream_data(ngtcp2_conn *conn, int64_t stream, uint64_t most, void *data, void *stream_data) {
  (void)conn, (void)most, (void)data, (void)stream_data;
  rexmit_ngtcp2_has_room(stream);
  return 0;
}

static int extend_max_streams(ngtcp2_conn *conn, uint64_t most, void *data) {
  (void)conn, (void)most, (void)data;
  rexmit_ngtcp2_has_room(-1);
  return 0;
}

static int recv_datagram(ngtcp2_conn *conn, uint32_t flags, const uint8_t *bytes, size_t len, void *data) {
  (void)conn, (void)flags, (void)data;
  rexmit_ngtcp2_datagram(bytes, len);
  return 0;
}

static void log_records(void *data, uint32_t flags, const void *bytes, size_t len) {
  (void)data, (void)flags;
  rexmit_ngtcp2_logged(bytes, len);
}

static const ngtcp2_callbacks CALLBACKS = {
    .client_initial = client_initial,
    .recv_client_initial = recv_client_initial,
    .recv_crypto_data = recv_crypto_data,
    .handshake_completed = handshake_completed,
    .encrypt = seal,
    .decrypt = open,
    .hp_mask = mask,
    .recv_stream_data = recv_stream_data,
    .acked_stream_data_offset = acked_stream_data,
    .stream_open = stream_open,
    .stream_close = stream_close,
    .recv_retry = recv_retry,
    .extend_max_local_streams_uni = extend_max_streams,
    .rand = random_bytes,
    .get_new_connection_id = new_connection_id,
    .update_key = update_key,
    .extend_max_stream_data = extend_max_stream_data,
    .delete_crypto_aead_ctx = drop_packet_key,
    .delete_crypto_cipher_ctx = drop_header_key,
    .get_path_challenge_data = path_challenge,
    .version_negotiation = version_negotiation,
    .early_data_rejected = early_data_rejected,
    .recv_datagram = recv_datagram,
};

/* --- A connection --- */

static ngtcp2_addr address_of(const struct place *place, ngtcp2_sockaddr_union *memory) {
  ngtcp2_addr address = {.addr = &memory->sa};
  memset(memory, 0, sizeof(*memory));
  if (place->is_v6) {
    memory->in6.sin6_family = AF_INET6;
    memory->in6.sin6_port = htons(place->port);
    memcpy(&memory->in6.sin6_addr, place->address, 16);
    address.addrlen = sizeof(memory->in6);
  } else {
    memory->in.sin_family = AF_INET;
    memory->in.sin_port = htons(place->port);
    memcpy(&memory->in.sin_addr, place->address, 4);
    address.addrlen = sizeof(memory->in);
  }
  return address;
}

/* What the first packet of a client says of itself; negative where no server takes it. */
static int accepts(const uint8_t *packet, size_t len, ngtcp2_pkt_hd *head) {
  GUARDED(int, ngtcp2_accept(head, packet, len));
}

static int new_connection(ngtcp2_conn **conn, const struct settings *own, const ngtcp2_cid *dcid, const ngtcp2_cid *scid,
                          const ngtcp2_path *path, const ngtcp2_settings *settings, const ngtcp2_transport_params *params) {
  GUARDED(int, own->server ? ngtcp2_conn_server_new(conn, dcid, scid, path, NGTCP2_PROTO_VER_V1, &CALLBACKS, settings, params,
                                                    NULL, NULL)
                           : ngtcp2_conn_client_new(conn, dcid, scid, path, NGTCP2_PROTO_VER_V1, &CALLBACKS, settings, params,
                                                    NULL, NULL));
}

/* A new connection of a client, or of a server that gets this packet; null where there is none. */
ngtcp2_conn *rexmit_ngtcp2_new(const struct settings *own, const struct place *local, const struct place *remote,
                               const uint8_t *packet, size_t len) {
  ngtcp2_sockaddr_union here, there;
  ngtcp2_path path = {.local = address_of(local, &here), .remote = address_of(remote, &there)};
  ngtcp2_conn *conn = NULL;
  /* The limits of AES-GCM (RFC 9001, section 6.6). */
  ngtcp2_crypto_ctx crypto = {.aead = {.max_overhead = TAG}, .max_encryption = 1 << 23, .max_decryption_failure = 1ULL << 52};
  ngtcp2_cid dcid = {.datalen = 8}, scid = {.datalen = 8};
  ngtcp2_transport_params params;
  ngtcp2_settings settings;

  ngtcp2_settings_default(&settings);
  settings.cc_algo = (ngtcp2_cc_algo)own->congestion;
  settings.initial_ts = own->now;
  settings.initial_rtt = own->initial_rtt;
  settings.handshake_timeout = own->handshake_timeout;
  settings.max_tx_udp_payload_size = own->payload;
  settings.max_window = own->most_receive_window;
  settings.max_stream_window = own->most_stream_window;
  settings.ack_thresh = own->ack_threshold;
  settings.no_pmtud = !own->mtu_discovery;

  ngtcp2_transport_params_default(&params);
  params.initial_max_stream_data_uni = own->stream_window;
  params.initial_max_data = own->receive_window;
  params.initial_max_streams_uni = own->streams;
  params.max_idle_timeout = own->idle_timeout;
  params.max_udp_payload_size = own->payload;
  params.max_ack_delay = own->max_ack_delay;
  params.disable_active_migration = 1;
  if (own->datagrams) {
    /* Any that fit into a packet (RFC 9221, section 3). */
    params.max_datagram_frame_size = 65535;
  }

  if (own->server) {
    ngtcp2_pkt_hd head;
    if (accepts(packet, len, &head) != 0) {
      return NULL;
    }
    dcid = head.scid;
    params.original_dcid = head.dcid;
    params.stateless_reset_token_present = 1;
    rexmit_ngtcp2_random(params.stateless_reset_token, sizeof(params.stateless_reset_token));
  } else {
    rexmit_ngtcp2_random(dcid.data, dcid.datalen);
  }
  rexmit_ngtcp2_random(scid.data, scid.datalen);
  if (own->qlog) {
    settings.qlog.write = log_records;
    settings.qlog.odcid = own->server ? params.original_dcid : dcid;
  }

  if (new_connection(&conn, own, &dcid, &scid, &path, &settings, &params) != 0) {
    return NULL;
  }
  ngtcp2_conn_set_keep_alive_timeout(conn, own->keep_alive);
  ngtcp2_conn_set_initial_crypto_ctx(conn, &crypto);
  ngtcp2_conn_set_crypto_ctx(conn, &crypto);
  ngtcp2_conn_set_early_crypto_ctx(conn, &crypto);
  return conn;
}

void rexmit_ngtcp2_drop(ngtcp2_conn *conn) { ngtcp2_conn_del(conn); }

/* --- Its handshake --- */

/* Its transport parameters, as TLS carries them. The library completes a server's when it gets keys for the handshake, which
 * our TLS gives after it has been told these: so they are completed here. */
ngtcp2_ssize rexmit_ngtcp2_own_params(ngtcp2_conn *conn, uint8_t *dest, size_t len) {
  ngtcp2_transport_params params = *ngtcp2_conn_get_local_transport_params(conn);
  if (!ngtcp2_conn_is_server(conn)) {
    GUARDED(ngtcp2_ssize, ngtcp2_conn_encode_local_transport_params(conn, dest, len));
  }
  ngtcp2_conn_get_scid(conn, &params.initial_scid);
  params.version_info.chosen_version = NGTCP2_PROTO_VER_V1;
  GUARDED(ngtcp2_ssize,
          ngtcp2_encode_transport_params(dest, len, NGTCP2_TRANSPORT_PARAMS_TYPE_ENCRYPTED_EXTENSIONS, &params));
}

int rexmit_ngtcp2_peer_params(ngtcp2_conn *conn, const uint8_t *data, size_t len) {
  GUARDED(int, ngtcp2_conn_decode_remote_transport_params(conn, data, len));
}

/* Those of an earlier connection, by which 0-RTT goes. */
int rexmit_ngtcp2_early_params(ngtcp2_conn *conn, const uint8_t *data, size_t len) {
  ngtcp2_transport_params params;
  int failed = ngtcp2_decode_transport_params(&params, NGTCP2_TRANSPORT_PARAMS_TYPE_ENCRYPTED_EXTENSIONS, data, len);
  if (failed) {
    return failed;
  }
  GUARDED(int, (ngtcp2_conn_set_early_remote_transport_params(conn, &params), 0));
}

int rexmit_ngtcp2_initial_keys(ngtcp2_conn *conn, void *opens, void *opens_head, void *seals, void *seals_head) {
  static const uint8_t IV[NONCE];
  ngtcp2_crypto_aead_ctx rx = {opens}, tx = {seals};
  ngtcp2_crypto_cipher_ctx rx_head = {opens_head}, tx_head = {seals_head};
  GUARDED(int, ngtcp2_conn_install_initial_key(conn, &rx, IV, &rx_head, &tx, IV, &tx_head, NONCE));
}

int rexmit_ngtcp2_keys(ngtcp2_conn *conn, int level, int seals, void *packet, void *head) {
  static const uint8_t IV[NONCE], SECRET[32];
  ngtcp2_crypto_aead_ctx key = {packet};
  ngtcp2_crypto_cipher_ctx head_key = {head};
  switch (level) {
  case NGTCP2_CRYPTO_LEVEL_EARLY:
    GUARDED(int, ngtcp2_conn_install_early_key(conn, &key, IV, NONCE, &head_key));
  case NGTCP2_CRYPTO_LEVEL_HANDSHAKE:
    GUARDED(int, seals ? ngtcp2_conn_install_tx_handshake_key(conn, &key, IV, NONCE, &head_key)
                       : ngtcp2_conn_install_rx_handshake_key(conn, &key, IV, NONCE, &head_key));
  default:
    /* The secrets would be for new keys, which our TLS makes from its own. */
    GUARDED(int, seals ? ngtcp2_conn_install_tx_key(conn, SECRET, sizeof(SECRET), &key, IV, NONCE, &head_key)
                       : ngtcp2_conn_install_rx_key(conn, SECRET, sizeof(SECRET), &key, IV, NONCE, &head_key));
  }
}

int rexmit_ngtcp2_submit(ngtcp2_conn *conn, int level, const uint8_t *data, size_t len) {
  GUARDED(int, ngtcp2_conn_submit_crypto_data(conn, level, data, len));
}

void rexmit_ngtcp2_complete(ngtcp2_conn *conn) { ngtcp2_conn_handshake_completed(conn); }

int rexmit_ngtcp2_reject(ngtcp2_conn *conn) { GUARDED(int, ngtcp2_conn_early_data_rejected(conn)); }

/* --- Packets and timers --- */

int rexmit_ngtcp2_read(ngtcp2_conn *conn, const uint8_t *packet, size_t len, uint8_t ecn, uint64_t now) {
  ngtcp2_pkt_info info = {.ecn = ecn};
  const ngtcp2_path *path = ngtcp2_conn_get_path(conn);
  GUARDED(int, ngtcp2_conn_read_pkt(conn, path, &info, packet, len, now));
}

/* A datagram with data of a stream, or without where `stream` is -1. */
ngtcp2_ssize rexmit_ngtcp2_write(ngtcp2_conn *conn, uint8_t *dest, size_t dest_len, int64_t stream, const ngtcp2_vec *data,
                                 size_t count, int fin, ngtcp2_ssize *taken, uint8_t *ecn, uint64_t now) {
  ngtcp2_pkt_info info = {.ecn = *ecn};
  uint32_t flags = stream < 0 ? NGTCP2_WRITE_STREAM_FLAG_NONE : NGTCP2_WRITE_STREAM_FLAG_MORE;
  jmp_buf here, *before = out;
  volatile ngtcp2_ssize result = GAVE_UP;
  if (fin) {
    flags |= NGTCP2_WRITE_STREAM_FLAG_FIN;
  }
  out = &here;
  if (_setjmp(here) == 0) {
    result = ngtcp2_conn_writev_stream(conn, NULL, &info, dest, dest_len, taken, flags, stream, data, count, now);
  }
  out = before;
  *ecn = (uint8_t)info.ecn;
  return result;
}

/* The same with a DATAGRAM frame, which is `taken` where it is in the packet. */
ngtcp2_ssize rexmit_ngtcp2_write_datagram(ngtcp2_conn *conn, uint8_t *dest, size_t dest_len, const ngtcp2_vec *data, int *taken,
                                          uint8_t *ecn, uint64_t now) {
  ngtcp2_pkt_info info = {.ecn = *ecn};
  jmp_buf here, *before = out;
  volatile ngtcp2_ssize result = GAVE_UP;
  out = &here;
  if (_setjmp(here) == 0) {
    result = ngtcp2_conn_writev_datagram(conn, NULL, &info, dest, dest_len, taken, NGTCP2_WRITE_DATAGRAM_FLAG_MORE, 0, data, 1,
                                         now);
  }
  out = before;
  *ecn = (uint8_t)info.ecn;
  return result;
}

/* The most bytes that a datagram may have now; 0 where the peer takes none. */
size_t rexmit_ngtcp2_most_datagram(ngtcp2_conn *conn) {
  const ngtcp2_transport_params *peer = ngtcp2_conn_get_remote_transport_params(conn);
  /* A short header with the longest packet number, the tag, and the frame's type and length. */
  size_t heads = 1 + ngtcp2_conn_get_dcid(conn)->datalen + 4 + TAG, frame = 3;
  size_t room = ngtcp2_conn_get_path_max_tx_udp_payload_size(conn);
  if (!peer || peer->max_datagram_frame_size <= frame) {
    return 0;
  }
  if (peer->max_udp_payload_size && peer->max_udp_payload_size < room) {
    room = peer->max_udp_payload_size;
  }
  room -= heads;
  return (peer->max_datagram_frame_size < room ? peer->max_datagram_frame_size : room) - frame;
}

void rexmit_ngtcp2_sent(ngtcp2_conn *conn, uint64_t now) { ngtcp2_conn_update_pkt_tx_time(conn, now); }

/* How many bytes may leave together. */
size_t rexmit_ngtcp2_burst(ngtcp2_conn *conn) { return ngtcp2_conn_get_send_quantum(conn); }

/* How many bytes the peer still takes. */
uint64_t rexmit_ngtcp2_window(ngtcp2_conn *conn) { return ngtcp2_conn_get_max_data_left(conn); }

uint64_t rexmit_ngtcp2_due(ngtcp2_conn *conn) { return ngtcp2_conn_get_expiry(conn); }

int rexmit_ngtcp2_expire(ngtcp2_conn *conn, uint64_t now) { GUARDED(int, ngtcp2_conn_handle_expiry(conn, now)); }

/* Closes it: by the application with a code, or, where `why` is not 0, for what the library has answered. */
ngtcp2_ssize rexmit_ngtcp2_close(ngtcp2_conn *conn, uint8_t *dest, size_t len, int why, uint64_t code, uint64_t now) {
  ngtcp2_connection_close_error error;
  ngtcp2_pkt_info info = {0};
  if (why == NGTCP2_ERR_CRYPTO) {
    ngtcp2_connection_close_error_set_transport_error_tls_alert(&error, ngtcp2_conn_get_tls_alert(conn), NULL, 0);
  } else if (why) {
    ngtcp2_connection_close_error_set_transport_error_liberr(&error, why, NULL, 0);
  } else {
    ngtcp2_connection_close_error_set_application_error(&error, code, NULL, 0);
  }
  GUARDED(ngtcp2_ssize, ngtcp2_conn_write_connection_close(conn, NULL, &info, dest, len, &error, now));
}

/* True where the peer's application has closed it. */
int rexmit_ngtcp2_peer_closed(ngtcp2_conn *conn) {
  ngtcp2_connection_close_error error;
  ngtcp2_conn_get_connection_close_error(conn, &error);
  return error.type == NGTCP2_CONNECTION_CLOSE_ERROR_CODE_TYPE_APPLICATION;
}

/* --- Streams --- */

int rexmit_ngtcp2_open_stream(ngtcp2_conn *conn, int64_t *stream) {
  GUARDED(int, ngtcp2_conn_open_uni_stream(conn, stream, NULL));
}

/* The application has read so many bytes, and perhaps all of a stream. */
int rexmit_ngtcp2_consumed(ngtcp2_conn *conn, int64_t stream, uint64_t len, int over) {
  ngtcp2_conn_extend_max_offset(conn, len);
  if (over) {
    ngtcp2_conn_extend_max_streams_uni(conn, 1);
  }
  /* Of a stream that is over the library knows no more. */
  GUARDED(int, (ngtcp2_conn_extend_max_stream_offset(conn, stream, len), 0));
}

void rexmit_ngtcp2_look(ngtcp2_conn *conn, struct look *look) {
  ngtcp2_conn_stat stat;
  ngtcp2_conn_get_conn_stat(conn, &stat);
  *look = (struct look){
      .cwnd = stat.cwnd,
      .ssthresh = stat.ssthresh,
      .in_flight = stat.bytes_in_flight,
      .window = ngtcp2_conn_get_max_data_left(conn),
      .rtt = stat.smoothed_rtt,
      .rttvar = stat.rttvar,
      .has_rtt = stat.first_rtt_sample_ts != UINT64_MAX,
      .pto = ngtcp2_conn_get_pto(conn),
      .pto_count = stat.pto_count,
      .due = stat.loss_detection_timer,
  };
}
