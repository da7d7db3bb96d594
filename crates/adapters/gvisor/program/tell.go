package main

import (
	"runtime"
	"strings"

	rs "github.com/rexmit/rexmit/go/rexmitstack"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// never is the slow-start threshold of a connection that has lost nothing.
const never = 1 << 30

// told is the state that was last told.
type told struct {
	state  string
	values [16]uint64
}

// tell says what the application should know, and the state where it has changed.
func (e *end) tell() {
	if e.endpoint == nil {
		return
	}
	state := tcp.EndpointState(e.endpoint.State())
	ready := e.endpoint.Readiness(waiter.EventOut | waiter.EventRdHUp)
	if e.connected && e.fails(state) {
		return
	}
	if !e.connected {
		if e.fails(state) || ready&waiter.EventOut == 0 {
			return
		}
		e.connected = true
		e.Tell(rs.Connected)
	}
	waiting, err := e.endpoint.GetSockOptInt(tcpip.ReceiveQueueSizeOption)
	if err == nil && waiting != e.readable {
		e.SetReadable(waiting)
		if waiting > e.readable {
			e.Tell(rs.Readable)
		}
		e.readable = waiting
	}
	if e.short && ready&waiter.EventOut != 0 {
		e.short = false
		e.Tell(rs.Writable)
	}
	if !e.ended && ready&waiter.EventRdHUp != 0 {
		e.ended = true
		e.Tell(rs.EndOfStream)
	}
	if !e.over && (state == tcp.StateTimeWait || state == tcp.StateClose) {
		e.over = true
		e.Tell(rs.Closed)
	}
	e.state(state)
}

// fails tells of a connection that is broken off; true if it is.
func (e *end) fails(state tcp.EndpointState) bool {
	if state != tcp.StateError && state != tcp.StateClose {
		return false
	}
	err := e.endpoint.LastError()
	if err == nil && state == tcp.StateClose {
		return e.over && e.failed
	}
	if !e.over {
		e.over, e.failed = true, true
		event := rs.Reset
		if _, timeout := err.(*tcpip.ErrTimeout); timeout {
			event = rs.TimedOut
		}
		e.Tell(event)
	}
	return true
}

// state tells the state for tables.
func (e *end) state(state tcp.EndpointState) {
	info := &e.info
	*info = tcpip.TCPInfoOption{}
	if e.endpoint.GetSockOpt(info) != nil {
		return
	}
	now := told{state: name(state)}
	stats := e.stack.Stats().TCP
	pairs := now.values[:0]
	add := func(field rs.Field, value uint64) { pairs = append(pairs, uint64(field), value) }
	add(rs.Cwnd, uint64(info.SndCwnd)*e.mss)
	add(rs.Phase, phases[info.CcState])
	add(rs.FastRetransmits, stats.FastRetransmit.Value())
	if state != tcp.StateClose {
		add(rs.Rto, uint64(info.RTO))
	}
	if info.RTT > 0 {
		add(rs.Srtt, uint64(info.RTT))
		add(rs.Rttvar, uint64(info.RTTVar))
	}
	if info.SndSsthresh < never {
		add(rs.Ssthresh, uint64(info.SndSsthresh)*e.mss)
	}
	if now != e.told {
		e.told = now
		e.SetState(now.state, pairs...)
	}
}

// name is that of a state in RFC 9293.
func name(state tcp.EndpointState) string {
	if state == tcp.StateClose {
		return "CLOSED"
	}
	return strings.ReplaceAll(state.String(), " ", "-")
}

var phases = map[tcpip.CongestionControlState]uint64{
	tcpip.Open:         0,
	tcpip.Disorder:     1,
	tcpip.FastRecovery: 2,
	tcpip.SACKRecovery: 2,
	tcpip.RTORecovery:  3,
}

const sender = "gvisor.dev/gvisor/pkg/tcpip/transport/tcp.(*"

// origins are the functions of netstack's that decide to send for a timer, the innermost of which counts. That of RACK waits for
// packets that may have been overtaken, and then finds others lost.
var origins = map[string]rs.Why{
	"handshake).retransmitHandlerLocked": rs.Timeout,
	"sender).retransmitTimerExpired":     rs.Timeout,
	"sender).sendZeroWindowProbe":        rs.Probe,
	"sender).probeTimerExpired":          rs.Probe,
	"rackControl).reorderTimerExpired":   rs.Loss,
}

// why says for what a packet leaves: it is called as netstack hands the packet over, on the sender's own stack of calls.
func (e *end) why() rs.Why {
	if !e.timer {
		return rs.AsItShows
	}
	var counters [48]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters[:])])
	for {
		frame, more := frames.Next()
		if name, ours := strings.CutPrefix(frame.Function, sender); ours {
			if why, known := origins[name]; known {
				return why
			}
		}
		if !more {
			return rs.AsItShows
		}
	}
}
