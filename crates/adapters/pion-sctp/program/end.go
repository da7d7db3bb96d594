package main

import (
	"context"
	"errors"
	"io"
	"math"
	"sync"

	"github.com/pion/sctp"
	"github.com/rexmit/rexmit/go/bubble"
	rs "github.com/rexmit/rexmit/go/rexmitstack"
)

// header is what an IP header needs of the MTU.
const header4, header6 = 20, 40

// end is one end of an association.
type end struct {
	*rs.Line
	opening  rs.Opening
	settings settings
	wire     *bubble.Wire
	log      log
	// lock keeps what goroutines of ours find.
	lock        sync.Mutex
	association *sctp.Association
	failed      error
	finished    bool
	streams     map[uint16]*sctp.Stream
	inbox       []*message
	// What the application was told, or waits for.
	connected, over, short, closing, aborting bool
	readable                                  int
	wanted                                    uint64
	state                                     [5]uint64
}

// message is one that waits to be read; taken says that Pion may hand over the stream's next one.
type message struct {
	stream uint16
	place  uint64
	bytes  []byte
	taken  chan struct{}
}

func newEnd(run *rs.Run, opening rs.Opening, line *rs.Line, settings settings) *end {
	e := &end{Line: line, opening: opening, settings: settings, streams: map[uint16]*sctp.Stream{}}
	room := uint32(run.MTU - header4)
	if opening.Local.Addr().Is6() {
		room = uint32(run.MTU - header6)
	}
	if e.settings.MTU == 0 {
		e.settings.MTU = 1191
	}
	e.settings.MTU = min(e.settings.MTU, room)
	e.wire = newWire(e)
	if !opening.Active {
		go e.open(func(config sctp.Config) (*sctp.Association, error) { return sctp.ServerWithOptions(config) })
	}
	return e
}

func (e *end) config() sctp.Config {
	return sctp.Config{
		LoggerFactory:        &e.log,
		NetConn:              e.wire,
		MTU:                  e.settings.MTU,
		MaxReceiveBufferSize: e.settings.ReceiveBuffer,
		MaxMessageSize:       e.settings.Message,
		RTOMax:               e.settings.MaxRTO,
		MinCwnd:              e.settings.MinCwnd,
	}
}

// open makes the association, and takes the streams that the peer opens.
func (e *end) open(how func(sctp.Config) (*sctp.Association, error)) {
	association, err := how(e.config())
	e.lock.Lock()
	e.association, e.failed = association, err
	e.lock.Unlock()
	if err != nil {
		return
	}
	for {
		stream, err := association.AcceptStream()
		e.lock.Lock()
		if err != nil {
			e.finished = true
			e.lock.Unlock()
			return
		}
		e.streams[stream.StreamIdentifier()] = stream
		e.lock.Unlock()
		go e.read(stream)
	}
}

// read keeps the next message of a stream until the application has taken it; what follows waits in Pion's own buffer.
func (e *end) read(stream *sctp.Stream) {
	buffer := make([]byte, 1<<16)
	for {
		n, place, err := stream.ReadSCTP(buffer)
		if errors.Is(err, io.ErrShortBuffer) {
			buffer = make([]byte, 2*len(buffer))
			continue
		}
		if err != nil {
			return
		}
		bytes := append([]byte(nil), buffer[:n]...)
		next := &message{stream.StreamIdentifier(), uint64(place), bytes, make(chan struct{})}
		e.lock.Lock()
		e.inbox = append(e.inbox, next)
		e.lock.Unlock()
		<-next.taken
	}
}

// Connect implements bubble.End.
func (e *end) Connect() {
	go e.open(func(config sctp.Config) (*sctp.Association, error) { return sctp.ClientWithOptions(config) })
}

// Packet implements bubble.End.
func (e *end) Packet(data []byte) { e.arrives(data) }

// Write implements bubble.End.
func (e *end) Write(data []byte, how rs.How) int {
	if e.association == nil || e.closing {
		return 0
	}
	e.wanted = uint64(len(data))
	if !e.room() {
		e.short = true
		return 0
	}
	stream, err := e.stream(how.Stream)
	if err != nil {
		return 0
	}
	switch {
	case how.MaxRetransmits != math.MaxUint32:
		stream.SetReliabilityParams(how.Unordered, sctp.ReliabilityTypeRexmit, how.MaxRetransmits)
	case how.Lifetime != math.MaxUint64:
		stream.SetReliabilityParams(how.Unordered, sctp.ReliabilityTypeTimed, uint32(how.Lifetime/1_000_000))
	default:
		stream.SetReliabilityParams(how.Unordered, sctp.ReliabilityTypeReliable, 0)
	}
	if _, err := stream.WriteSCTP(data, sctp.PayloadProtocolIdentifier(uint32(how.Place))); err != nil {
		return 0
	}
	return len(data)
}

// stream is the one of this number, opened where nobody has.
func (e *end) stream(number uint16) (*sctp.Stream, error) {
	if stream, known := e.streams[number]; known {
		return stream, nil
	}
	stream, err := e.association.OpenStream(number, sctp.PayloadTypeWebRTCBinary)
	if err == nil {
		e.streams[number] = stream
		go e.read(stream)
	}
	return stream, err
}

// buffered is what the application has written and the peer has not acknowledged.
func (e *end) buffered() (total uint64) {
	for _, stream := range e.streams {
		total += stream.BufferedAmount()
	}
	return total
}

// room says that there is some for the message that the application wants to write, which any empty buffer has.
func (e *end) room() bool {
	buffered := e.buffered()
	return buffered == 0 || buffered+e.wanted <= e.settings.SendBuffer
}

// Read implements bubble.End.
func (e *end) Read(most int) *rs.Data {
	if len(e.inbox) == 0 {
		return nil
	}
	first := e.inbox[0]
	size := min(most, len(first.bytes))
	data := &rs.Data{Stream: first.stream, Place: first.place, Bytes: first.bytes[:size]}
	first.bytes, first.place = first.bytes[size:], first.place+uint64(size)
	if len(first.bytes) == 0 {
		e.inbox = e.inbox[1:]
		close(first.taken)
	}
	return data
}

// Close implements bubble.End.
func (e *end) Close() {
	if e.association != nil && !e.closing {
		e.closing = true
		association := e.association
		go func() { _ = association.Shutdown(context.Background()) }()
	}
}

// Abort implements bubble.End.
func (e *end) Abort() {
	e.aborting = true
	if e.association != nil {
		go e.association.Abort("")
	} else {
		_ = e.wire.Close()
	}
}

// leave ends what the run has left of it.
func (e *end) leave() {
	_ = e.wire.Close()
	for _, left := range e.inbox {
		close(left.taken)
	}
	e.inbox = nil
}

// Settled implements bubble.End.
func (e *end) Settled() bool {
	e.log.why = rs.AsItShows
	if e.failed != nil && !e.over {
		e.over = true
		event := rs.TimedOut
		if !errors.Is(e.failed, sctp.ErrHandshakeInitAck) && !errors.Is(e.failed, sctp.ErrHandshakeCookieEcho) {
			event = rs.Reset
		}
		e.Tell(event)
	}
	if e.association == nil {
		return false
	}
	if !e.connected {
		e.connected = true
		e.Tell(rs.Connected)
	}
	waiting := 0
	for _, message := range e.inbox {
		waiting += len(message.bytes)
	}
	if waiting != e.readable {
		e.SetReadable(waiting)
		if waiting > 0 {
			e.Tell(rs.Readable)
		}
		e.readable = waiting
	}
	if e.short && e.room() {
		e.short = false
		e.Tell(rs.Writable)
	}
	if e.finished && !e.over && waiting == 0 {
		e.over = true
		if e.aborting {
			e.Tell(rs.Reset)
		} else {
			e.Tell(rs.EndOfStream)
			e.Tell(rs.Closed)
		}
	}
	e.tell()
	return false
}

// tell tells the state where it has changed.
func (e *end) tell() {
	a := e.association
	over := uint64(0)
	name := "ESTABLISHED"
	if e.over {
		name, over = "CLOSED", 1
	}
	state := [5]uint64{uint64(a.CWND()), uint64(a.RWND()), uint64(a.SRTT() * 1e6), e.buffered(), over}
	if state != e.state {
		e.state = state
		e.SetState(name, uint64(rs.Cwnd), state[0], uint64(rs.SndWnd), state[1], uint64(rs.Srtt), state[2],
			uint64(rs.SendQueue), state[3])
	}
}
