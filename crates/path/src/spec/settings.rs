//! The settings that a path has for both directions and that each direction may override: said once.

/// A table of these settings, with what stands before and behind them.
macro_rules! settings_table {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            before { $($before:tt)* }
            after { $($after:tt)* }
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $($before)*
            /// Rate of the bottleneck, counted over IP packets with their `overhead`. Absent: no limit. It is above zero:
            /// an outage is one of the `changes`. Or `{ trace = "file" }`: mahimahi's opportunities to send, or a CSV of
            /// time, rate, delay and loss, each from its row on.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub rate: Option<PathRate>,
            /// Rate of the links to the hosts, one before and one behind the bottleneck. Packets pass each in order, one
            /// after the other, and wait without limit: before the first as in the sender's own interface. Absent: none.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub link: Option<Rate>,
            /// Bytes of the link layer that shaper, links and a queue in bytes count besides the IP packet, such as
            /// `"14 bytes"` of Ethernet. Default: none, but 14 bytes with `qdisc`, and with a trace of mahimahi's the 4
            /// bytes that it counts with each packet.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub overhead: Option<Bytes>,
            /// Propagation delay, one way. Default: none.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub delay: Option<Duration>,
            /// How the emulator keeps its delay. Default: `exact`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub delay_rule: Option<DelayRule>,
            /// What the queue before the bottleneck holds, in packets or bytes (at least 1 packet or 68 bytes), or in time:
            /// the bytes that `rate` sends in it, whatever `changes` do to the rate later. The packet in service counts.
            /// Default: 1000 packets.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub queue: Option<QueueSize>,
            /// Active queue management: who is dropped or marked before the queue is full. With the shapers `exact`,
            /// `tbf` and `cisco` only. Default: `none`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub aqm: Option<Aqm>,
            /// How the bottleneck sends. Default: `exact`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub shaper: Option<ShaperKind>,
            /// Time between ticks of a shaper or delay that works at ticks: dummynet's tick, tbf's and netem's jiffy,
            /// cisco's Tc. Default: 1 ms; 4 ms for `cisco`, and for the delay rule `netem-2.6` with the shaper `exact`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub tick: Option<Duration>,
            /// The queueing discipline before the bottleneck, of the Linux kernel: with the emulator `netem` only. It
            /// takes the place of `queue`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub qdisc: Option<Qdisc>,
            /// What the bucket of `tbf` holds. Packets that are longer, their `overhead` included, do not pass. Default:
            /// 1600 bytes.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub burst: Option<Bytes>,
            /// Packets that are lost.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub drop: Option<Pattern>,
            /// Packets that get a bit error: the receiver sees a bad checksum.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub corrupt: Option<Pattern>,
            /// Packets that are marked "congestion experienced" (RFC 3168), where they are ECN-capable.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub mark: Option<Pattern>,
            /// Packets of which a second copy enters the queue right behind.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub duplicate: Option<Pattern>,
            /// Packets that take longer, added to the propagation delay.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub hold: Option<Hold>,
            /// Packets that are held back until later ones have passed.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub reorder: Option<Reorder>,
            /// Random loss.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub loss: Option<LossModel>,
            /// Random variation of the propagation delay.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub jitter: Option<Jitter>,
            /// Changes of rate or delay, each from its moment on; or `{ trace = "file.csv" }`, of rate, delay and loss.
            #[serde(skip_serializing_if = "Changes::is_empty")]
            pub changes: Changes,
            $($after)*
        }
    };
}

pub(super) use settings_table;
