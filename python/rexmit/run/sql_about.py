"""What the tables hold that SQL can be asked about, one line each."""

ABOUT = {
    "runs": "one row per run: its factors and its responses",
    "intervals": "one row per interval and sender",
    "retransmissions": "what was sent again: one row per sender, number and class",
    "messages": "how late messages were: one row per connection with a sender",
    "programs": "what became of the hosts' programs: one row per program",
    "transfers": "what each connection did: one row per connection",
    "links": "what each link did: one row per direction of a link",
    "transfers_over_time": "what each connection delivered: one row per interval",
    "links_over_time": "what each link did: one row per interval",
    "state": "state of both hosts over time, of the runs for which it was kept",
    "verdicts": "what the path did to each packet, of the runs for which it was kept",
    "transmissions": "why each packet was sent, of the runs for which it was kept",
    "captures": "pcapng files of single runs",
    "factors": "levels of each factor",
    "columns": "every column of every table, and what it means",
}
"""The tables of a results folder."""

ABOUT_CAPTURE = {
    "associations": "one row per SCTP association",
    "chunks": "one row per transmission of a DATA chunk",
    "connections": "one row per TCP connection: what it carried, and what held its senders back",
    "crossings": "when both captures saw a packet: one row per packet",
    "held": "what kept each sender from sending more: one row per period",
    "loss_events": "losses close together: one row per event",
    "pair_retransmissions": "where the data of a retransmission were lost: one row per retransmission",
    "pairs": "delay and loss between two captures: one row per direction of a connection",
    "paths": "one row per path of an SCTP association and sender",
    "retransmissions": "why TCP data were sent again: one row per retransmission",
    "rtt": "one row per round-trip sample of TCP",
    "sacks": "one row per SACK block of TCP",
    "sctp_controls": "control chunks of SCTP that were sent again: one row per retransmission",
    "sctp_retransmissions": "why DATA chunks were sent again: one row per retransmission",
    "sctp_rtt": "one row per round-trip sample of SCTP",
    "sctp_sacks": "one row per SACK chunk",
    "segments": "one row per packet of a TCP connection",
    "streams": "one row per stream of an SCTP association and sender",
}
"""The tables of captures that `rexmit analyze --tables` writes."""
