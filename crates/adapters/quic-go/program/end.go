package main

import (
	"context"
	"errors"
	"sync"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlogwriter"
	rs "github.com/rexmit/rexmit/go/rexmitstack"
)

// end is one end of a connection.
type end struct {
	*rs.Line
	host      *host
	opening   rs.Opening
	wire      wire
	transport *quic.Transport
	log       *log
	// lock keeps what goroutines of ours find.
	lock       sync.Mutex
	connection *quic.Conn
	failed     error
	ended      int
	inbox      []*piece
	own        []*writer
	datagrams  datagrams
	// What the application was told, or waits for.
	connected, over, short, closing, parting, shut bool
	told, readable                                 int
	state                                          state
}

func newEnd(h *host, opening rs.Opening, line *rs.Line) *end {
	e := &end{Line: line, host: h, opening: opening}
	e.wire = newWire(e)
	e.log = &log{sent: map[quic.StreamID]int64{}}
	e.transport = &quic.Transport{Conn: e.wire, ConnectionIDLength: 8}
	if !opening.Active {
		go e.listen()
	}
	return e
}

func (e *end) config() *quic.Config {
	config := e.host.config(e.opening)
	config.Tracer = func(_ context.Context, client bool, id quic.ConnectionID) qlogwriter.Trace {
		if e.host.run.Qlog {
			e.log.keep(client, id)
		}
		return e.log
	}
	return config
}

// listen takes the peer's connection.
func (e *end) listen() {
	secure := e.host.server.Clone()
	secure.KeyLogWriter = keyLog{e.Line}
	listener, err := e.transport.ListenEarly(secure, e.config())
	must(err)
	connection, err := listener.Accept(context.Background())
	e.open(connection, err)
}

// dial connects, at once where the server is known and 0-RTT is wanted.
func (e *end) dial() {
	secure := e.host.clientTLS()
	secure.KeyLogWriter = keyLog{e.Line}
	dial := e.transport.Dial
	if e.host.settings.ZeroRTT {
		dial = e.transport.DialEarly
	}
	connection, err := dial(context.Background(), e.wire.RemoteAddr(), secure, e.config())
	e.open(connection, err)
}

func (e *end) open(connection *quic.Conn, err error) {
	e.lock.Lock()
	e.connection, e.failed = connection, err
	e.lock.Unlock()
	if err != nil {
		return
	}
	e.serveDatagrams()
	for {
		stream, err := connection.AcceptUniStream(context.Background())
		if err != nil {
			e.lock.Lock()
			e.failed = err
			e.lock.Unlock()
			return
		}
		go e.read(stream)
	}
}

// Connect implements bubble.End.
func (e *end) Connect() { go e.dial() }

// Packet implements bubble.End.
func (e *end) Packet(data []byte) { e.wire.arrives(data) }

// Abort implements bubble.End.
func (e *end) Abort() { e.end(1) }

// Close implements bubble.End: of the side that connected it comes once more when both directions are over.
func (e *end) Close() {
	if e.closing {
		e.parting = true
		return
	}
	e.closing = true
	if e.connection != nil && !e.opening.Datagrams {
		e.finish()
	}
}

// finish ends the streams of ours, of which there is one at least where the connection takes any.
func (e *end) finish() bool {
	if len(e.own) == 0 {
		_ = e.writer(0)
	}
	for _, writer := range e.own {
		writer.finish()
	}
	return len(e.own) > 0
}

// end breaks the connection off, or takes leave of it.
func (e *end) end(code quic.ApplicationErrorCode) {
	if e.connection != nil && !e.shut {
		e.shut = true
		go func() { _ = e.connection.CloseWithError(code, "") }()
	}
}

// leave ends what the run has left of it.
func (e *end) leave() {
	if e.connection != nil {
		go func() { _ = e.connection.CloseWithError(1, "") }()
	}
	for _, left := range e.inbox {
		close(left.taken)
	}
	e.inbox = nil
	for _, writer := range e.own {
		writer.leave()
	}
	if e.datagrams.writes != nil {
		close(e.datagrams.writes)
	}
	go func() { _ = e.transport.Close() }()
	_ = e.wire.Close()
}

// Settled implements bubble.End.
func (e *end) Settled() bool {
	e.log.probes = false
	if kept := e.log.memory.take(); len(kept) > 0 {
		e.AddQlog(kept)
	}
	if e.connection != nil && !e.connected {
		e.connected = true
		e.Tell(rs.Connected)
	}
	if e.datagrams.limit > 0 {
		e.SetLimit(e.datagrams.limit)
	}
	waiting := e.datagrams.waiting
	for _, piece := range e.inbox {
		waiting += len(piece.bytes)
	}
	if waiting != e.readable {
		e.SetReadable(waiting)
		if waiting > 0 {
			e.Tell(rs.Readable)
		}
		e.readable = waiting
	}
	for ; e.told < e.ended; e.told++ {
		e.Tell(rs.EndOfStream)
	}
	if e.short && e.room() {
		e.short = false
		e.Tell(rs.Writable)
	}
	if e.closing && e.opening.Datagrams && len(e.own) == 0 && e.connection != nil && e.datagramsLeft() && e.finish() {
		return true
	}
	if e.parting && !e.shut && e.log.metrics.BytesInFlight == 0 && e.written() {
		e.end(0)
		return true
	}
	if e.failed != nil && !e.over {
		e.over = true
		e.Tell(e.fate())
	}
	e.tell()
	return false
}

// fate is how the connection has ended.
func (e *end) fate() rs.Event {
	var application *quic.ApplicationError
	var idle *quic.IdleTimeoutError
	var handshake *quic.HandshakeTimeoutError
	switch {
	case errors.As(e.failed, &application) && application.ErrorCode == 0:
		return rs.Closed
	case errors.As(e.failed, &idle), errors.As(e.failed, &handshake):
		return rs.TimedOut
	default:
		return rs.Reset
	}
}

// tell tells the state where it has changed.
func (e *end) tell() {
	metrics := e.log.metrics
	if metrics.CongestionWindow == 0 {
		// Nothing was sent yet.
		return
	}
	waiting := uint64(e.datagrams.size - e.log.datagramBytes)
	for _, writer := range e.own {
		waiting += uint64(writer.waiting)
	}
	state := state{
		name: "HANDSHAKE", cwnd: uint64(metrics.CongestionWindow), inFlight: uint64(metrics.BytesInFlight),
		srtt: uint64(metrics.SmoothedRTT), rttvar: uint64(metrics.RTTVariance), timeouts: e.log.timeouts, waiting: waiting,
	}
	if e.over {
		state.name = "CLOSED"
	} else if e.connected {
		state.name = "ESTABLISHED"
	}
	if state == e.state {
		return
	}
	e.state = state
	values := []uint64{
		uint64(rs.Cwnd), state.cwnd, uint64(rs.InFlight), state.inFlight, uint64(rs.Timeouts), state.timeouts,
		uint64(rs.SendQueue), state.waiting,
	}
	if state.srtt > 0 {
		values = append(values, uint64(rs.Srtt), state.srtt, uint64(rs.Rttvar), state.rttvar)
	}
	e.SetState(state.name, values...)
}

// state is what tables show.
type state struct {
	name                                            string
	cwnd, inFlight, srtt, rttvar, timeouts, waiting uint64
}
