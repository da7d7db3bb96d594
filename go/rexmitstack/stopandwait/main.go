// A TCP that keeps one segment in flight, as examples/stacks/stop_and_wait.py: a timer of a second that doubles. IPv4 only.
//
//	go build -o stopandwait ./stopandwait
//	hosts.server.stack = { program = "./stopandwait" }
package main

import (
	"encoding/binary"
	"log"

	rs "github.com/rexmit/rexmit/go/rexmitstack"
)

const (
	fin, syn, rst, psh, ack = 1, 2, 4, 8, 16
	second, buffer, tries   = 1_000_000_000, 65_536, 8
)

type segment struct {
	number uint32
	flags  byte
	data   []byte
}

type end struct {
	*rs.Line
	opening                           rs.Opening
	state                             string
	next, expected                    uint32
	mss, tries                        int
	waiting, inbox                    []byte
	flight                            *segment
	closing, finSent, peerDone, short bool
}

func newEnd(run *rs.Run, opening rs.Opening, line *rs.Line) rs.End {
	state := "LISTEN"
	if opening.Active {
		state = "CLOSED"
	}
	return &end{Line: line, opening: opening, state: state, next: run.Random.Uint32(), mss: run.MTU - 40}
}

func sum(total uint32, data []byte) uint32 {
	for i, b := range data {
		total += uint32(b) << (8 * (1 - i&1))
	}
	return total
}

func folded(total uint32) uint16 {
	for total>>16 > 0 {
		total = total&0xffff + total>>16
	}
	return ^uint16(total)
}

func (e *end) emit(s segment, why rs.Why) {
	be := binary.BigEndian
	local, remote := e.opening.Local.Addr().As4(), e.opening.Remote.Addr().As4()
	tcp := be.AppendUint16(be.AppendUint16(nil, e.opening.Local.Port()), e.opening.Remote.Port())
	tcp = be.AppendUint32(be.AppendUint32(tcp, s.number), e.expected)
	header, options := uint16(5), []byte(nil)
	if s.flags&syn > 0 {
		header, options = 6, be.AppendUint16([]byte{2, 4}, uint16(e.mss))
	}
	tcp = be.AppendUint16(tcp, header<<12|uint16(s.flags))
	tcp = be.AppendUint16(tcp, uint16(min(buffer-len(e.inbox), 65_535)))
	tcp = append(append(append(tcp, 0, 0, 0, 0), options...), s.data...)
	ip := append([]byte{0x45, 0, 0, 0, 0, 0, 0, 0, 64, 6, 0, 0}, append(local[:], remote[:]...)...)
	be.PutUint16(ip[2:], uint16(20+len(tcp)))
	be.PutUint16(ip[10:], folded(sum(0, ip)))
	be.PutUint16(tcp[16:], folded(sum(sum(6+uint32(len(tcp)), ip[12:]), tcp)))
	e.Send(append(ip, tcp...), why)
}

func (e *end) again(now uint64, why rs.Why) {
	e.emit(*e.flight, why)
	e.SetTimer(now + second<<e.tries)
}

func (e *end) start(now uint64, flags byte, data []byte) {
	e.flight, e.tries = &segment{e.next, flags, data}, 0
	e.next += uint32(len(data))
	if flags&(syn|fin) > 0 {
		e.next++
	}
	e.again(now, rs.AsItShows)
}

func (e *end) push(now uint64) {
	if e.flight == nil && e.state != "CLOSED" && e.state != "LISTEN" {
		if size := min(len(e.waiting), e.mss); size > 0 {
			data := e.waiting[:size:size]
			e.waiting = e.waiting[size:]
			e.start(now, ack|psh, data)
			if e.short {
				e.short = false
				e.Tell(rs.Writable)
			}
		} else if e.closing && !e.finSent {
			e.finSent = true
			e.start(now, ack|fin, nil)
		}
	}
	e.SetState(e.state, uint64(rs.Cwnd), uint64(e.mss), uint64(rs.SendQueue), uint64(len(e.waiting)))
}

func (e *end) finish(event rs.Event) {
	e.state, e.flight, e.waiting = "CLOSED", nil, nil
	e.StopTimer()
	e.Tell(event)
}

func (e *end) Connect(now uint64) {
	e.state = "SYN-SENT"
	e.start(now, syn, nil)
}

func (e *end) Packet(now uint64, data []byte) {
	be := binary.BigEndian
	if len(data) < 40 || e.state == "CLOSED" {
		return
	}
	from, to := int(data[0]&15)*4, int(be.Uint16(data[2:]))
	if from < 20 || to > len(data) || to < from+20 || from+int(data[from+12]>>4)*4 > to {
		return
	}
	tcp := data[from:to]
	number, acked, flags, payload := be.Uint32(tcp[4:]), be.Uint32(tcp[8:]), tcp[13], tcp[int(tcp[12]>>4)*4:]
	if flags&rst > 0 {
		e.finish(rs.Reset)
		return
	}
	if flags&syn > 0 {
		e.expected = number + 1
		if e.state == "LISTEN" {
			e.state = "SYN-RECEIVED"
			e.start(now, syn|ack, nil)
			return
		}
		if e.state != "SYN-SENT" {
			if e.flight != nil {
				e.emit(*e.flight, rs.AsItShows)
			} else {
				e.emit(segment{e.next, ack, nil}, rs.AsItShows)
			}
			return
		}
	}
	if e.flight != nil && flags&ack > 0 && acked == e.next {
		e.flight = nil
		e.StopTimer()
		if e.state == "SYN-SENT" || e.state == "SYN-RECEIVED" {
			e.state = "ESTABLISHED"
			e.Tell(rs.Connected)
		}
	}
	if number == e.expected && len(payload) > 0 && len(e.inbox)+len(payload) <= buffer {
		e.inbox = append(e.inbox, payload...)
		e.expected += uint32(len(payload))
		e.SetReadable(len(e.inbox))
		e.Tell(rs.Readable)
	}
	if flags&fin > 0 && number+uint32(len(payload)) == e.expected && !e.peerDone {
		e.expected++
		e.peerDone = true
		e.Tell(rs.EndOfStream)
	}
	if len(payload) > 0 || flags&(syn|fin) > 0 {
		e.emit(segment{e.next, ack, nil}, rs.AsItShows)
	}
	e.push(now)
	if e.state == "ESTABLISHED" && e.peerDone && e.finSent && e.flight == nil {
		e.state = "TIME-WAIT"
		e.Tell(rs.Closed)
	}
}

func (e *end) Timer(now uint64) {
	if e.flight == nil {
		return
	}
	if e.tries++; e.tries > tries {
		e.finish(rs.TimedOut)
		return
	}
	e.again(now, rs.Timeout)
}

func (e *end) Write(now uint64, data []byte, _ rs.How) int {
	room := max(buffer-len(e.waiting), 0)
	if e.closing || e.state == "CLOSED" {
		room = 0
	}
	taken := min(room, len(data))
	e.short = taken < len(data)
	e.waiting = append(e.waiting, data[:taken]...)
	e.push(now)
	return taken
}

func (e *end) Read(_ uint64, most int) *rs.Data {
	full, size := len(e.inbox)+e.mss > buffer, min(most, len(e.inbox))
	data := &rs.Data{Place: rs.Follows, Bytes: e.inbox[:size:size]}
	e.inbox = e.inbox[size:]
	e.SetReadable(len(e.inbox))
	if full && e.state == "ESTABLISHED" {
		e.emit(segment{e.next, ack, nil}, rs.Ack)
	}
	return data
}

func (e *end) Close(now uint64) {
	e.closing = true
	if e.state == "LISTEN" || e.state == "CLOSED" {
		e.finish(rs.Closed)
	}
	e.push(now)
}

func (e *end) Abort(uint64) {
	if e.state != "LISTEN" && e.state != "CLOSED" {
		e.emit(segment{e.next, rst | ack, nil}, rs.Rst)
	}
	e.finish(rs.Closed)
}

func main() {
	stack := rs.Stack{Name: "stop-and-wait", Build: "1", Protocols: "tcp", Forgets: true, Make: newEnd}
	if err := rs.Serve(stack); err != nil {
		log.Fatal(err)
	}
}
