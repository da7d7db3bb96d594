//! Other words for settings: what other tools, papers and people call them.

/// A word as it is asked for, with `_` for `-` and no capitals, and the names that it may stand for, the likeliest first.
///
/// A name with dots is suggested where its first key is known: `cc` beside a host's keys is
/// `stack.congestion.algorithm`, and beside those of a profile `congestion.algorithm`.
const MEANT: &[(&[&str], &[&str])] = &[
    (&["latency", "lag", "ping", "rtt", "propagation", "one_way_delay", "owd"], &["delay"]),
    (
        &[
            "bandwidth",
            "bw",
            "throughput",
            "speed",
            "capacity",
            "bitrate",
            "datarate",
            "data_rate",
            "link_rate",
        ],
        &["rate"],
    ),
    (&["trace", "link_trace", "rate_trace", "mahimahi"], &["rate.trace"]),
    (
        &[
            "buffer",
            "buffer_size",
            "bufsize",
            "backlog",
            "qlen",
            "queue_size",
            "queue_length",
            "queue_limit",
            "fifo",
        ],
        &["queue", "buffers", "receive_buffer"],
    ),
    (&["limit"], &["queue"]),
    (
        &["cc", "cca", "congestion_control", "congestion", "algorithm", "tcp_congestion"],
        &["stack.congestion.algorithm", "congestion.algorithm", "congestion", "algorithm"],
    ),
    (&["plr", "drop_rate", "packet_loss", "loss_rate", "lossrate", "loss_probability"], &["loss"]),
    (&["lose", "lost", "drops", "drop_packet"], &["drop"]),
    (&["discipline", "scheduler", "queueing"], &["qdisc", "aqm"]),
    (&["corruption", "bit_errors", "ber"], &["corrupt"]),
    (&["duplication", "dup"], &["duplicate"]),
    (&["reordering"], &["reorder"]),
    (&["variation", "delay_variation", "ipdv"], &["jitter"]),
    (&["forward", "downstream", "downlink", "download"], &["down"]),
    (&["reverse", "backward", "upstream", "uplink", "upload"], &["up"]),
    (&["os", "system", "profile"], &["stack"]),
    (&["kernel"], &["linux.version"]),
    (&["sender", "src", "source"], &["from"]),
    (&["receiver", "dst", "dest", "destination"], &["to"]),
    (&["size", "bytes", "amount", "data", "length", "volume", "payload"], &["writes"]),
    (&["duration", "seconds", "time"], &["bulk", "limit"]),
    (&["begin", "at", "offset"], &["start"]),
    (&["parallel", "flows", "number"], &["connections"]),
    (&["timeout", "end", "max_time", "deadline"], &["limit"]),
    (&["rack_tlp", "racktlp"], &["stack.recovery.rack", "recovery.rack", "rack"]),
    (
        &["tlp", "tail_loss_probe", "early_retrans"],
        &["stack.recovery.tail_probe", "recovery.tail_probe", "tail_probe"],
    ),
    (&["proportional_rate_reduction"], &["stack.recovery.prr", "recovery.prr", "prr"]),
    (&["f_rto"], &["stack.recovery.frto", "recovery.frto", "frto"]),
    (
        &["hystart++", "hystartpp", "hystart_pp", "hystart_plus_plus"],
        &["stack.congestion.hystart", "congestion.hystart", "hystart"],
    ),
    (&["iw", "initcwnd", "initial_cwnd"], &["stack.initial_window", "initial_window"]),
    (
        &["rwnd", "rcvbuf", "receive_window", "recv_buffer"],
        &["receive_buffer", "buffers.receive", "stack.buffers.receive"],
    ),
    (&["sndbuf"], &["send_buffer", "buffers.send", "stack.buffers.send"]),
    (&["rto_min", "minrto"], &["min_rto", "rtt.min_rto", "stack.rtt.min_rto"]),
    (&["nodelay", "tcp_nodelay"], &["nagle"]),
    (&["repetitions", "repeats", "repeat", "reps", "runs", "iterations", "trials"], &["replications"]),
    (&["random_seed", "rng", "random"], &["seed"]),
    (&["factors", "parameters", "sweep", "vary_by", "variables", "matrix"], &["vary"]),
    (&["topology", "network", "setup", "experiment"], &["scenario"]),
    (&["name"], &["title"]),
    (&["nodes", "endpoints", "machines"], &["hosts"]),
    (&["edges"], &["links"]),
    (&["traffic", "workload"], &["transfers"]),
];

/// Names whose first key is a table only where this key stands beside it: elsewhere, as among the settings of a kernel, it is
/// a word.
const BESIDE: &[(&str, &str)] = &[("congestion.algorithm", "delayed_ack"), ("rate.trace", "queue")];

/// The known name that people mean by a word that is not known, if it is such a word.
///
/// A dotted name (`congestion.algorithm`) is given where its first key is known.
pub fn meant(word: &str, known: &[&str]) -> Option<&'static str> {
    let word = word.to_lowercase().replace('-', "_");
    let is_known = |name: &str| {
        let beside =
            BESIDE.iter().find(|(dotted, _)| *dotted == name).is_none_or(|(_, key)| known.contains(key));
        beside && known.contains(&name.split('.').next().unwrap_or(name))
    };
    MEANT
        .iter()
        .filter(|(words, _)| words.contains(&word.as_str()))
        .flat_map(|(_, names)| *names)
        .copied()
        .find(|name| is_known(name))
}

#[cfg(test)]
mod tests {
    use super::{MEANT, meant};

    #[test]
    fn words_of_the_field_stand_for_settings() {
        let path = ["rate", "delay", "queue", "loss", "down"];
        for (word, name) in [
            ("latency", "delay"),
            ("Bandwidth", "rate"),
            ("buffer", "queue"),
            ("loss-rate", "loss"),
            ("bw", "rate"),
        ] {
            assert_eq!(meant(word, &path), Some(name), "{word}");
        }
        assert_eq!(meant("latency", &["rate"]), None);
        assert_eq!(meant("trace", &path), Some("rate.trace"));
        assert_eq!(meant("trace", &["rate"]), None, "a rate of something else");
        assert_eq!(meant("rats", &path), None);
    }

    #[test]
    fn rules_of_recovery_are_found_by_what_their_rfcs_call_them() {
        let (profile, recovery) = (["congestion", "recovery"], ["rack", "tail_probe", "prr", "frto"]);
        assert_eq!(meant("TLP", &profile), Some("recovery.tail_probe"));
        assert_eq!(meant("TLP", &recovery), Some("tail_probe"));
        assert_eq!(meant("F-RTO", &recovery), Some("frto"));
        assert_eq!(meant("HyStart++", &profile), Some("congestion.hystart"));
        assert_eq!(meant("RACK-TLP", &["code", "stack"]), Some("stack.recovery.rack"));
    }

    #[test]
    fn congestion_control_is_found_at_each_level() {
        assert_eq!(meant("cc", &["code", "stack"]), Some("stack.congestion.algorithm"));
        assert_eq!(meant("cc", &["congestion", "delayed_ack"]), Some("congestion.algorithm"));
        assert_eq!(meant("cca", &["algorithm", "ssthresh"]), Some("algorithm"));
        assert_eq!(
            meant("congestion_control", &["congestion", "recovery", "send_buffer"]),
            Some("congestion")
        );
    }

    #[test]
    fn words_are_written_as_they_are_compared() {
        for (words, _) in MEANT {
            for word in *words {
                assert_eq!(*word, word.to_lowercase().replace('-', "_"));
            }
        }
    }
}
