// Package rexmitstack is the far side of rexmit's protocol for stacks that are programs, version 1.
//
// A stack is a function that makes ends; [Serve] answers rexmit's calls with them, one at a time. Times are those of the
// run, in nanoseconds. While an end is called, it says what it does by the methods of its [Line]. It must read no clock, start
// no goroutine that outlives the call, and draw random numbers from [Run.Random] alone, so that the same run is the same again.
//
// docs/reference/stack-protocol.md describes the bytes.
package rexmitstack

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand"
	"net/netip"
)

// Version is that of the protocol.
const Version = 1

// enough is how many bytes of an answer have no more reads behind them.
const enough = 1 << 17

// Event is what an application should know.
type Event byte

// The events.
const (
	Connected Event = iota
	Writable
	Readable
	EndOfStream
	Closed
	Reset
	TimedOut
)

// Why says for what a packet leaves.
type Why byte

// The reasons; AsItShows leaves it to the packet's bytes.
const (
	AsItShows Why = iota
	New
	Timeout
	Loss
	Probe
	Ack
	Control
	Rst
)

// What a packet of QUIC carries, added to why it leaves: data of streams for the first time, and those that were sent before.
const (
	NewData Why = 16
	Repeats Why = 32
	// Datagram is of a packet that carries one.
	Datagram Why = 64
)

// Field is a number in the state of an end.
type Field byte

// The fields; times are in nanoseconds.
const (
	Cwnd Field = iota
	Ssthresh
	InFlight
	SndWnd
	SendQueue
	RecvQueue
	Srtt
	Rttvar
	Rto
	RexmtDue
	Phase
	Timeouts
	FastRetransmits
	DupAcks
)

// Run is what is known of a run.
type Run struct {
	Random   *rand.Rand
	MTU      int             `json:"mtu"`
	Protocol string          `json:"protocol"`
	Profile  map[string]any  `json:"profile"`
	Settings json.RawMessage `json:"settings"`
	// Qlog says that rexmit takes logs of connections.
	Qlog bool `json:"qlog"`
}

// Opening is what an end is made from.
type Opening struct {
	Active        bool
	Streams       uint16
	Local, Remote netip.AddrPort
	// Datagrams says of QUIC that the application's writes are datagrams.
	Datagrams bool
}

// How says how what the application writes is to be delivered; all ones: without limit. A datagram of QUIC is taken whole or not
// at all, and is never sent again.
type How struct {
	Stream         uint16
	Unordered      bool
	MaxRetransmits uint32
	Lifetime       uint64
	Place          uint64
	Datagram       bool
}

// Follows is the place of data that follow those read before.
const Follows = ^uint64(0)

// Data is what a read gives: of a stream, or a datagram, whole.
type Data struct {
	Stream   uint16
	Place    uint64
	Ends     bool
	Bytes    []byte
	Datagram bool
}

// End is one end of a connection.
type End interface {
	Connect(now uint64)
	Packet(now uint64, data []byte)
	Timer(now uint64)
	Write(now uint64, data []byte, how How) int
	Read(now uint64, most int) *Data
	Close(now uint64)
	Abort(now uint64)
}

// Line is how an end says what it does while it is called.
type Line struct {
	items []byte
	// spare is the memory of the answer before.
	spare []byte
	due   uint64
	tick  bool
	// told are the events of the answer so far, a bit each, and tells is how many they are.
	told, tells int
	// readable is how many bytes wait for a read, as was last said.
	readable int
}

// take is the answer so far. What a goroutine says from now on, in a call of another end say, is of the next one.
func (l *Line) take() []byte {
	said := l.items
	l.items, l.spare = l.spare[:0], said
	l.told, l.tells = 0, 0
	return said
}

// begin begins an item, which goes on until end is called with what this gives.
func (l *Line) begin(kind byte) int {
	l.items = append(l.items, kind, 0, 0, 0, 0)
	return len(l.items)
}

func (l *Line) end(begin int) {
	binary.LittleEndian.PutUint32(l.items[begin-4:], uint32(len(l.items)-begin))
}

func (l *Line) item(kind byte, value ...byte) {
	begin := l.begin(kind)
	l.items = append(l.items, value...)
	l.end(begin)
}

func (l *Line) number(kind byte, value uint64) {
	begin := l.begin(kind)
	l.items = binary.LittleEndian.AppendUint64(l.items, value)
	l.end(begin)
}

func (l *Line) short(kind byte, value uint32) {
	begin := l.begin(kind)
	l.items = binary.LittleEndian.AppendUint32(l.items, value)
	l.end(begin)
}

// Send lets an IP packet leave.
func (l *Line) Send(packet []byte, why Why) {
	begin := l.begin(3)
	l.items = append(append(l.items, byte(why)), packet...)
	l.end(begin)
}

// Tell tells the application.
func (l *Line) Tell(event Event) {
	l.told |= 1 << event
	l.tells++
	l.item(4, byte(event))
}

// SetReadable says how many bytes wait for a read.
func (l *Line) SetReadable(count int) {
	l.readable = count
	l.number(5, uint64(count))
}

// SetLimit says that the datagram which is written is too long, and how many bytes would fit now.
func (l *Line) SetLimit(most int) { l.short(9, uint32(most)) }

// SetTimer asks for a call of Timer at a time of the run.
func (l *Line) SetTimer(at uint64) {
	l.due, l.tick = at, false
	l.timer(1, at)
}

// StopTimer asks for no more.
func (l *Line) StopTimer() {
	l.due, l.tick = ^uint64(0), false
	l.timer(0, 0)
}

// Tick asks for a call of Timer every so many nanoseconds.
func (l *Line) Tick(every uint64) {
	l.due, l.tick = 0, true
	l.timer(2, every)
}

func (l *Line) timer(kind byte, number uint64) {
	begin := l.begin(6)
	l.items = binary.LittleEndian.AppendUint64(append(l.items, kind), number)
	l.end(begin)
}

// SetState tells the end's state for tables, with what is known of the fields, in order.
func (l *Line) SetState(name string, values ...uint64) {
	begin := l.begin(7)
	l.items = append(append(l.items, byte(len(name))), name...)
	for i := 0; i+1 < len(values); i += 2 {
		l.items = binary.LittleEndian.AppendUint64(append(l.items, byte(values[i])), values[i+1])
	}
	l.end(begin)
}

// AddSecrets adds lines of NSS's key log.
func (l *Line) AddSecrets(lines string) { l.item(8, []byte(lines)...) }

// AddQlog adds records of the connection's qlog, each whole, where Run.Qlog asks for them.
func (l *Line) AddQlog(records []byte) { l.item(10, records...) }

// Stack is a program's stack.
type Stack struct {
	Name, Build, Protocols string
	// Forgets says that one process may serve one run after the other.
	Forgets bool
	// Datagrams says that it knows those of QUIC.
	Datagrams bool
	Make      func(run *Run, opening Opening, line *Line) End
	// Over, where it is set, is called when a run is over.
	Over func()
}

type opened struct {
	end  End
	line *Line
}

type server struct {
	stack Stack
	run   *Run
	ends  map[uint32]opened
}

// Serve answers rexmit until it is gone.
func Serve(stack Stack) error {
	line := newFrames()
	s := server{stack: stack}
	for {
		call, err := line.next()
		if err != nil || len(call) == 0 {
			return nil
		}
		items, err := s.answer(call[0], call[1:])
		if err != nil {
			return err
		}
		if call[0] == 1 && line.offered() {
			items = append(items, 129, 0, 0, 0, 0)
		}
		if err := line.send(call[0]|128, items); err != nil {
			return nil
		}
		if call[0] == 1 {
			line.takeUp()
		}
	}
}

func (s *server) answer(kind byte, body []byte) ([]byte, error) {
	switch kind {
	case 1:
		seed := int64(binary.LittleEndian.Uint64(body[2:]))
		s.run, s.ends = &Run{Random: rand.New(rand.NewSource(seed))}, map[uint32]opened{}
		var l Line
		l.item(16, Version, 0)
		l.item(17, []byte(s.stack.Name)...)
		l.item(18, []byte(s.stack.Build)...)
		l.item(19, []byte(s.stack.Protocols)...)
		if s.stack.Forgets {
			l.item(20)
		}
		if s.stack.Datagrams {
			l.item(128)
		}
		l.item(130)
		return l.items, json.Unmarshal(body[34:], s.run)
	case 10:
		s.ends = nil
		if s.stack.Over != nil {
			s.stack.Over()
		}
		return nil, nil
	}
	now, n := binary.LittleEndian.Uint64(body), binary.LittleEndian.Uint32(body[8:])
	body = body[12:]
	if kind == 2 {
		line := &Line{due: ^uint64(0)}
		s.ends[n] = opened{s.stack.Make(s.run, opening(body), line), line}
	}
	end, ok := s.ends[n]
	if !ok {
		return nil, fmt.Errorf("a call of the unknown end %d", n)
	}
	if err := end.called(kind, now, body); err != nil {
		return nil, err
	}
	return end.line.take(), nil
}

func (o opened) called(kind byte, now uint64, body []byte) error {
	switch kind {
	case 2:
	case 3:
		o.end.Connect(now)
	case 4:
		o.end.Packet(now, body)
	case 5:
		if o.line.due <= now {
			if !o.line.tick {
				o.line.due = ^uint64(0)
			}
			o.end.Timer(now)
		}
	case 6:
		le := binary.LittleEndian
		how := How{le.Uint16(body), body[2]&1 == 1, le.Uint32(body[3:]), le.Uint64(body[7:]), le.Uint64(body[15:]), body[2]&2 == 2}
		taken := o.end.Write(now, body[23:], how)
		o.line.short(1, uint32(taken))
	case 7:
		o.reads(now, binary.LittleEndian.Uint32(body))
	case 8:
		o.end.Close(now)
	case 9:
		o.end.Abort(now)
	case 11:
		return o.followed(now, body)
	default:
		return fmt.Errorf("a call of the unknown kind %d", kind)
	}
	return nil
}

// reads gives what the application reads; true if its stream goes on behind that.
func (o opened) reads(now uint64, most uint32) bool {
	data := o.end.Read(now, int(most))
	if data == nil {
		return false
	}
	l, le := o.line, binary.LittleEndian
	flags := byte(0)
	if data.Ends {
		flags = 1
	}
	if data.Datagram {
		flags = 2
	}
	begin := l.begin(2)
	l.items = append(le.AppendUint64(le.AppendUint16(l.items, data.Stream), data.Place), flags)
	l.items = append(l.items, data.Bytes...)
	l.end(begin)
	return !data.Ends
}

// followed answers a call, and those that the application makes as soon as it is told the one event of the answer: it reads until
// nothing is left, or it writes.
func (o opened) followed(now uint64, body []byte) error {
	l, first, most := o.line, body[0], binary.LittleEndian.Uint32(body[1:])
	size := binary.LittleEndian.Uint32(body[5:])
	body, write := body[9:9+size:9+size], body[9+size:]
	if err := o.called(first, now, body); err != nil || l.tells != 1 {
		return err
	}
	if l.told == 1<<Writable && len(write) > 0 {
		l.item(11, 6)
		return o.called(6, now, write)
	}
	for goes := l.told == 1<<Readable && most > 0; goes && l.readable > 0 && len(l.items) < enough; {
		l.item(11, 7)
		goes = o.reads(now, most) && l.told == 1<<Readable
	}
	return nil
}

func opening(body []byte) Opening {
	size := 4
	if body[3] == 6 {
		size = 16
	}
	address := func(at int) netip.AddrPort {
		ip, _ := netip.AddrFromSlice(body[at : at+size])
		return netip.AddrPortFrom(ip, binary.LittleEndian.Uint16(body[at+size:]))
	}
	return Opening{body[0]&1 == 0, binary.LittleEndian.Uint16(body[1:]), address(4), address(4 + size + 2), body[0]&2 == 2}
}
