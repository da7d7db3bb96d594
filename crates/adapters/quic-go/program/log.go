package main

import (
	"sync"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
	rs "github.com/rexmit/rexmit/go/rexmitstack"
)

// log hears quic-go's events (qlog), which say what each packet carries and how recovery stands.
type log struct {
	// waiting are the packets that were made and have not left in a datagram.
	waiting []note
	// sent is the end of what was sent of each stream.
	sent map[qlog.StreamID]int64
	// timeouts are expiries of the probe timer; probes, that one expired in this call.
	timeouts uint64
	probes   bool
	// datagrams are the DATAGRAM frames that have left, or that quic-go has dropped; datagramBytes is their size.
	datagrams, datagramBytes int
	metrics                  qlog.MetricsUpdated
	// file is quic-go's own log of the connection, where it is kept, and memory where that is written.
	file   *qlogwriter.FileSeq
	memory memory
}

// note is what a packet carries.
type note struct {
	size                              int
	fresh, again, control, acks, ping bool
	datagram                          bool
}

// keep lets quic-go write its own log too.
func (l *log) keep(client bool, id quic.ConnectionID) {
	if l.file == nil {
		l.file = qlogwriter.NewConnectionFileSeq(&l.memory, client, id)
		go l.file.Run()
	}
}

// AddProducer implements qlogwriter.Trace.
func (l *log) AddProducer() qlogwriter.Recorder {
	if l.file == nil {
		return l
	}
	return both{l, l.file.AddProducer()}
}

// both hears events for the log and for quic-go's own.
type both struct {
	*log
	own qlogwriter.Recorder
}

// RecordEvent implements qlogwriter.Recorder.
func (b both) RecordEvent(event qlogwriter.Event) {
	b.log.RecordEvent(event)
	b.own.RecordEvent(event)
}

// Close implements qlogwriter.Recorder.
func (b both) Close() error { return b.own.Close() }

// memory is a file of which what was written is taken.
type memory struct {
	lock  sync.Mutex
	bytes []byte
}

// Write implements io.Writer.
func (m *memory) Write(bytes []byte) (int, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.bytes = append(m.bytes, bytes...)
	return len(bytes), nil
}

// Close implements io.Closer.
func (m *memory) Close() error { return nil }

func (m *memory) take() []byte {
	m.lock.Lock()
	defer m.lock.Unlock()
	bytes := m.bytes
	m.bytes = nil
	return bytes
}

// SupportsSchemas implements qlogwriter.Trace.
func (l *log) SupportsSchemas(string) bool { return true }

// Close implements qlogwriter.Recorder.
func (l *log) Close() error { return nil }

// RecordEvent implements qlogwriter.Recorder.
func (l *log) RecordEvent(event qlogwriter.Event) {
	switch event := event.(type) {
	case qlog.PacketSent:
		l.leaves(event)
	case qlog.PTOCountUpdated:
		if event.PTOCount > 0 {
			l.timeouts++
			l.probes = true
		}
	case qlog.DatagramDropped:
		if event.Direction == qlog.DirectionSending {
			l.datagrams++
			l.datagramBytes += event.Raw.Length
		}
	case qlog.MetricsUpdated:
		l.metrics = event
	}
}

func (l *log) leaves(event qlog.PacketSent) {
	n := note{size: event.Raw.Length}
	for _, frame := range event.Frames {
		switch frame := frame.Frame.(type) {
		case *qlog.StreamFrame:
			l.carries(&n, *frame)
		case qlog.StreamFrame:
			l.carries(&n, frame)
		case *qlog.AckFrame, qlog.AckFrame:
			n.acks = true
		case *qlog.PingFrame, qlog.PingFrame:
			n.ping = true
		case *qlog.DatagramFrame:
			l.carriesDatagram(&n, *frame)
		case qlog.DatagramFrame:
			l.carriesDatagram(&n, frame)
		default:
			n.control = true
		}
	}
	l.waiting = append(l.waiting, n)
}

func (l *log) carries(n *note, frame qlog.StreamFrame) {
	end := frame.Offset + frame.Length
	if frame.Fin {
		// Its end counts as a byte.
		end++
	}
	if frame.Offset < l.sent[frame.StreamID] {
		n.again = true
	} else {
		n.fresh = true
	}
	l.sent[frame.StreamID] = max(l.sent[frame.StreamID], end)
}

func (l *log) carriesDatagram(n *note, frame qlog.DatagramFrame) {
	n.datagram = true
	l.datagrams++
	l.datagramBytes += int(frame.Length)
}

// why says for what a datagram of this size leaves.
func (l *log) why(size int) rs.Why {
	var all note
	for all.size < size && len(l.waiting) > 0 {
		n := l.waiting[0]
		l.waiting = l.waiting[1:]
		all.size += n.size
		all.fresh = all.fresh || n.fresh
		all.again = all.again || n.again
		all.control = all.control || n.control
		all.acks = all.acks || n.acks
		all.ping = all.ping || n.ping
		all.datagram = all.datagram || n.datagram
	}
	carries := rs.AsItShows
	if all.fresh {
		carries |= rs.NewData
	}
	if all.again {
		carries |= rs.Repeats
	}
	if all.datagram {
		carries |= rs.Datagram
	}
	switch {
	case l.probes && !all.datagram && (all.again || all.ping || all.control || all.fresh):
		return rs.Probe | carries
	case all.again:
		return rs.Loss | carries
	case all.fresh || all.datagram:
		return rs.New | carries
	case all.acks && !all.control && !all.ping:
		return rs.Ack
	default:
		return rs.Control
	}
}
