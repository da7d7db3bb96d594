//! The names that values of a column may have.

use rexmit_tables::Named;

use crate::pair::{End, Fate, LostAt, NearBy};
use crate::rows::{Cause, Confidence, Held, Kind, Method, Need, Proof, SideName};
use crate::sctp::{Control, SctpCause, SctpMethod, SctpProof, TraceClass};

macro_rules! names {
    ($($type:ident { $($value:ident = $name:literal),* $(,)? })*) => {$(
        impl Named for $type {
            const NAMES: &'static [&'static str] = &[$($name),*];

            fn code(&self) -> u8 {
                // Those of the list, in its order.
                enum Code { $($value),* }
                (match self { $(Self::$value => Code::$value),* }) as u8
            }
        }
    )*};
}

names! {
    SideName { Client = "client", Server = "server" }
    Kind {
        Bare = "bare",
        New = "new",
        Retransmission = "retransmission",
        Reordered = "reordered",
        Copy = "copy",
        Probe = "probe",
    }
    Method { Handshake = "handshake", Ack = "ack", Sack = "sack", Timestamp = "timestamp" }
    Confidence { Unknown = "unknown", Likely = "likely", Certain = "certain" }
    Need { Needed = "needed", Spurious = "spurious", Unnecessary = "unnecessary", Unknown = "unknown" }
    Proof {
        None = "none",
        Dsack = "dsack",
        Timestamps = "timestamps",
        EarlyAck = "early-ack",
        AckBefore = "ack-before",
        Arrived = "arrived",
    }
    Held {
        Application = "application",
        ReceiveWindow = "receive-window",
        SendBuffer = "send-buffer",
        SlowStart = "slow-start",
        AfterLoss = "after-loss",
        IdleRestart = "idle-restart",
        PathRate = "path-rate",
        Recovery = "recovery",
        Timer = "timer",
        Unknown = "unknown",
    }
    End { A = "a", B = "b" }
    NearBy {
        RoundTrip = "round-trip",
        Clock = "clock",
        Hops = "hops",
        Others = "others",
        Assumed = "assumed",
    }
    LostAt {
        Before = "before",
        Between = "between",
        After = "after",
        Nowhere = "nowhere",
        Unknown = "unknown",
    }
    Fate {
        Arrived = "arrived",
        Damaged = "damaged",
        Lost = "lost",
        NotSent = "not-sent",
        NotComparable = "not-comparable",
    }
    TraceClass {
        Timeout = "timeout",
        Fast = "fast",
        BundledMissing = "bundled-reported-missing",
        BundledInFlight = "bundled-in-flight",
    }
    SctpCause {
        Fast = "fast",
        FastAgain = "fast-again",
        Timeout = "timeout",
        AfterTimeout = "after-timeout",
        BundledMissing = "bundled-reported-missing",
        BundledInFlight = "bundled-in-flight",
        WithNew = "with-new-data",
        WithCookie = "with-cookie",
        WindowProbe = "window-probe",
        Unknown = "unknown",
    }
    SctpProof {
        None = "none",
        DuplicateTsn = "duplicate-tsn",
        EarlyAck = "early-ack",
        AckBefore = "ack-before",
    }
    SctpMethod { Handshake = "handshake", Sack = "sack", Heartbeat = "heartbeat" }
    Control {
        Init = "init",
        InitAck = "init-ack",
        CookieEcho = "cookie-echo",
        CookieAck = "cookie-ack",
        Heartbeat = "heartbeat",
        Shutdown = "shutdown",
        ShutdownAck = "shutdown-ack",
        ShutdownComplete = "shutdown-complete",
    }
    Cause {
        Syn = "syn",
        SynAck = "syn-ack",
        Fin = "fin",
        Fast = "fast",
        ReorderingTimer = "reordering-timer",
        PartialAck = "partial-ack",
        SackRecovery = "sack-recovery",
        TailProbe = "tail-probe",
        Timeout = "timeout",
        GoBackN = "go-back-n",
        WindowProbe = "window-probe",
        KeepAlive = "keep-alive",
        Unknown = "unknown",
    }
}
