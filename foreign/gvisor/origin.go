package main

import (
	"runtime"
	"strings"
)

// origin is the function of netstack's sender that sends a packet, as foreign/src/gvisor/truth.rs reads it.
type origin byte

const (
	// window: the window allows it (sendData), or it is not data.
	window origin = iota
	// handshakeTimer: the timer of the handshake.
	handshakeTimer
	// timeout: the retransmission timer.
	timeout
	// windowProbe: the retransmission timer, while the window is closed.
	windowProbe
	// tailProbe: the timer of the tail loss probe.
	tailProbe
	// first: the first segment that is not acknowledged, in a recovery (resendSegment).
	first
	// recovery: anything else that a recovery sends.
	recovery
)

const sender = "gvisor.dev/gvisor/pkg/tcpip/transport/tcp.(*"

// origins are the functions that decide, the innermost of which counts.
var origins = map[string]origin{
	"handshake).retransmitHandlerLocked": handshakeTimer,
	"sender).retransmitTimerExpired":     timeout,
	"sender).sendZeroWindowProbe":        windowProbe,
	"sender).probeTimerExpired":          tailProbe,
	"sender).resendSegment":              first,
	"rackControl).DoRecovery":            recovery,
	"sackRecovery).handleSACKRecovery":   recovery,
}

// caller says which of the functions above sends a packet: it is called as netstack hands the packet over, on the
// sender's own stack of calls.
func caller() origin {
	var counters [48]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters[:])])
	for {
		frame, more := frames.Next()
		if name, ours := strings.CutPrefix(frame.Function, sender); ours {
			if origin, known := origins[name]; known {
				return origin
			}
		}
		if !more {
			return window
		}
	}
}
