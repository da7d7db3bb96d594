/* The header's structures are those of src/ffi.rs, which asserts the same numbers. */
#include <stddef.h>
#include <usrsctp.h>

#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type)
#define AT(type, field, at) _Static_assert(offsetof(type, field) == (at), #type "." #field)

SIZE(struct sockaddr_conn, 16);
SIZE(struct sctp_rcvinfo, 28);
AT(struct sctp_rcvinfo, rcv_ppid, 8);
SIZE(struct sctp_sendv_spa, 32);
AT(struct sctp_sendv_spa, sendv_sndinfo, 4);
AT(struct sctp_sendv_spa, sendv_prinfo, 20);
SIZE(struct sctp_paddrparams, 152);
AT(struct sctp_paddrparams, spp_hbinterval, 132);
AT(struct sctp_paddrparams, spp_pathmtu, 136);
AT(struct sctp_paddrparams, spp_flags, 140);
SIZE(struct sctp_status, 176);
AT(struct sctp_status, sstat_state, 4);
AT(struct sctp_status, sstat_rwnd, 8);
AT(struct sctp_status, sstat_primary, 24);
SIZE(struct sctp_paddrinfo, 152);
AT(struct sctp_paddrinfo, spinfo_cwnd, 136);
AT(struct sctp_paddrinfo, spinfo_srtt, 140);
AT(struct sctp_paddrinfo, spinfo_rto, 144);
SIZE(struct sctpstat, 664);
AT(struct sctpstat, sctps_sendretransdata, 172);
AT(struct sctpstat, sctps_sendfastretrans, 176);
AT(struct sctpstat, sctps_timodata, 272);
AT(struct sctpstat, sctps_timoinit, 280);
AT(struct sctpstat, sctps_timocookie, 296);

_Static_assert(AF_CONN == 123 && IPPROTO_SCTP == 132, "families");
_Static_assert(SCTP_NODELAY == 4 && SCTP_PEER_ADDR_PARAMS == 10 && SCTP_RECVRCVINFO == 31, "options");
_Static_assert(SCTP_STATUS == 256 && SCTP_SENDV_SPA == 4, "options");
_Static_assert(SPP_HB_ENABLE == 1 && SPP_HB_DISABLE == 2 && SPP_PMTUD_DISABLE == 16, "flags of a path");
_Static_assert(SCTP_ABORT == 0x200 && SCTP_UNORDERED == 0x400, "flags of a message");
_Static_assert(SCTP_PR_SCTP_TTL == 1 && SCTP_PR_SCTP_RTX == 3, "partial reliability");

/* In place of the C library's in6addr_any. */
extern const struct in6_addr rexmit_usrsctp_in6addr_any;
const struct in6_addr rexmit_usrsctp_in6addr_any = IN6ADDR_ANY_INIT;
