//! A packet as one line of text.

use rexmit_wire::Payload;
use rexmit_wire::sctp::{Chunk, DataChunk, Packet, kind};

/// The chunks of a packet whose sender's first TSN is `own` and whose receiver's is `peer`.
pub fn describe(packet: &Packet, own: u32, peer: u32) -> String {
    let chunks: Vec<String> = packet.chunks.iter().map(|chunk| one(chunk, own, peer)).collect();
    chunks.join(" + ")
}

fn one(chunk: &Chunk, own: u32, peer: u32) -> String {
    let theirs = |tsn: u32| tsn.wrapping_sub(peer).wrapping_add(1);
    match chunk {
        Chunk::Data(data) => describe_data(data, own),
        Chunk::Sack(sack) => {
            let cumulative = theirs(sack.cumulative);
            let mut text = format!("SACK {cumulative}");
            if !sack.gaps.is_empty() {
                let of = |offset: u16| cumulative.wrapping_add(offset.into());
                let blocks: Vec<String> =
                    sack.gaps.iter().map(|gap| format!("{}-{}", of(gap.start), of(gap.end))).collect();
                text += &format!(" [{}]", blocks.join(" "));
            }
            if !sack.duplicates.is_empty() {
                let tsns: Vec<String> = sack.duplicates.iter().map(|tsn| theirs(*tsn).to_string()).collect();
                text += &format!(" dup {}", tsns.join(" "));
            }
            text
        }
        Chunk::Init(_) => "INIT".into(),
        Chunk::InitAck(_) => "INIT-ACK".into(),
        Chunk::Heartbeat(_) => "HEARTBEAT".into(),
        Chunk::HeartbeatAck(_) => "HEARTBEAT-ACK".into(),
        Chunk::Abort { reflected, causes } => {
            let mut text = "ABORT".to_string();
            if *reflected {
                text += " T";
            }
            for cause in causes {
                text += &format!(" {cause}");
            }
            text
        }
        Chunk::Shutdown { cumulative } => format!("SHUTDOWN {}", theirs(*cumulative)),
        Chunk::ShutdownAck => "SHUTDOWN-ACK".into(),
        Chunk::Error { causes } => format!("ERROR {}", causes[0]),
        Chunk::CookieEcho(_) => "COOKIE-ECHO".into(),
        Chunk::CookieAck => "COOKIE-ACK".into(),
        Chunk::ShutdownComplete { reflected } => {
            if *reflected { "SHUTDOWN-COMPLETE T" } else { "SHUTDOWN-COMPLETE" }.into()
        }
        Chunk::ForwardTsn { cumulative, skipped } => {
            let to = cumulative.wrapping_sub(own).wrapping_add(1);
            let skipped: Vec<String> =
                skipped.iter().map(|(stream, number)| format!(" s{stream}#{number}")).collect();
            format!("FORWARD-TSN {to}{}", skipped.concat())
        }
        Chunk::Other { kind: kind::ERROR, value, .. } => {
            format!("ERROR {}", u16::from_be_bytes([value[0], value[1]]))
        }
        Chunk::Other { kind: kind::I_FORWARD_TSN, value, .. } => format!("I-FORWARD-TSN {}", value.len()),
        Chunk::Other { kind, .. } => format!("chunk {kind}"),
    }
}

/// `7:100`; what is unusual follows: stream and number, `U`nordered, `B`egin or `E`nd of a longer message (`-`: neither),
/// `I`mmediate, `f` the fragment number of I-DATA.
fn describe_data(data: &DataChunk, own: u32) -> String {
    let mut text = format!("{}:{}", data.tsn.wrapping_sub(own).wrapping_add(1), data.payload.len());
    if data.stream != 0 {
        text += &format!(" s{}#{}", data.stream, data.message);
    }
    if data.unordered {
        text += " U";
    }
    match (data.begin, data.end) {
        (true, true) => {}
        (true, false) => text += " B",
        (false, true) => text += " E",
        (false, false) => text += " -",
    }
    if data.immediate {
        text += " I";
    }
    if let Some(fragment) = data.fragment {
        text += &format!(" f{fragment}");
    }
    text
}
