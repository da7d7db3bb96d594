package main

import (
	"bytes"
	"runtime"
	"time"

	"github.com/rexmit/rexmit/go/netclock"
	rs "github.com/rexmit/rexmit/go/rexmitstack"
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

const (
	// backlog is above one, at which a listener always answers with a SYN cookie.
	backlog = 16
	// yields is how often our goroutine steps aside so that netstack's, of which each wakes one other at most, come to rest.
	yields = 8
)

// end is one end of a connection: a netstack with one socket, or a listener until a connection has come.
type end struct {
	*rs.Line
	opening  rs.Opening
	clock    netclock.Clock
	stack    *stack.Stack
	link     *link
	queue    waiter.Queue
	endpoint tcpip.Endpoint
	listener tcpip.Endpoint
	// timer: a timer of netstack's makes it act now.
	timer bool
	// What the application was told, or waits for.
	connected, ended, over, failed, short bool
	readable                              int
	told                                  told
	// mss is the largest payload of a segment, once that is known.
	mss uint64
	// What is filled anew by each call: the bytes of a read, and the state as netstack tells it.
	into bytes.Buffer
	info tcpip.TCPInfoOption
}

func newEnd(run *rs.Run, opening rs.Opening, line *rs.Line, settings settings) *end {
	e := &end{Line: line, opening: opening}
	e.clock.Set(0)
	e.netstack(run, func(state *tcp.TCPEndpointState) { e.mss = uint64(state.Sender.MaxPayloadSize) })
	e.set(settings)
	if !opening.Active {
		e.listener = e.bound()
		must(e.listener.Listen(backlog))
	}
	return e
}

func (e *end) network() tcpip.NetworkProtocolNumber {
	if e.opening.Local.Addr().Is6() {
		return ipv6.ProtocolNumber
	}
	return ipv4.ProtocolNumber
}

// bound is a socket with the end's port.
func (e *end) bound() tcpip.Endpoint {
	endpoint, err := e.stack.NewEndpoint(tcp.ProtocolNumber, e.network(), &e.queue)
	must(err)
	must(endpoint.Bind(tcpip.FullAddress{Port: e.opening.Local.Port()}))
	return endpoint
}

// Connect implements rs.End.
func (e *end) Connect(now uint64) {
	e.begin(now)
	e.endpoint = e.bound()
	remote := e.opening.Remote
	peer := tcpip.FullAddress{NIC: nic, Addr: tcpip.AddrFromSlice(remote.Addr().AsSlice()), Port: remote.Port()}
	if err := e.endpoint.Connect(peer); err != nil {
		if _, started := err.(*tcpip.ErrConnectStarted); !started {
			must(err)
		}
	}
	e.finish()
}

// Packet implements rs.End.
func (e *end) Packet(now uint64, data []byte) {
	e.begin(now)
	packet := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(data)})
	e.link.InjectInbound(e.network(), packet)
	packet.DecRef()
	e.finish()
}

// Timer implements rs.End.
func (e *end) Timer(now uint64) {
	e.begin(now)
	e.finish()
}

// Write implements rs.End.
func (e *end) Write(now uint64, data []byte, _ rs.How) int {
	e.begin(now)
	taken := 0
	for e.endpoint != nil && taken < len(data) {
		n, err := e.endpoint.Write(bytes.NewReader(data[taken:]), tcpip.WriteOptions{})
		taken += int(n)
		if err != nil || n == 0 {
			break
		}
	}
	e.short = taken < len(data)
	e.finish()
	return taken
}

// Read implements rs.End.
func (e *end) Read(now uint64, most int) *rs.Data {
	e.begin(now)
	e.into.Reset()
	for e.endpoint != nil && e.into.Len() < most {
		limited := tcpip.LimitedWriter{W: &e.into, N: int64(most - e.into.Len())}
		result, err := e.endpoint.Read(&limited, tcpip.ReadOptions{})
		if err != nil || result.Count == 0 {
			break
		}
	}
	e.finish()
	if e.into.Len() == 0 {
		return nil
	}
	return &rs.Data{Place: rs.Follows, Bytes: e.into.Bytes()}
}

// Close implements rs.End.
func (e *end) Close(now uint64) {
	e.begin(now)
	if e.endpoint != nil {
		// A connection that has failed meanwhile cannot be closed.
		_ = e.endpoint.Shutdown(tcpip.ShutdownWrite)
	}
	e.finish()
}

// Abort implements rs.End.
func (e *end) Abort(now uint64) {
	e.begin(now)
	if e.endpoint != nil {
		e.endpoint.Abort()
	}
	e.finish()
}

func (e *end) begin(now uint64) { e.clock.Set(time.Duration(now)) }

// finish lets timers and goroutines act until nothing is left to do, and says what has come of it.
func (e *end) finish() {
	settle()
	e.timer = true
	for e.clock.Fire() {
		settle()
	}
	e.timer = false
	e.accept()
	e.tell()
	if due, set := e.clock.Next(); set {
		e.SetTimer(uint64(due))
	} else {
		e.StopTimer()
	}
}

func settle() {
	for range yields {
		runtime.Gosched()
	}
}

func (e *end) accept() {
	if e.listener == nil || e.endpoint != nil {
		return
	}
	if endpoint, _, err := e.listener.Accept(nil); err == nil {
		e.endpoint = endpoint
	}
}

// close ends the run for the end's stack.
func (e *end) close() {
	e.stack.Close()
	settle()
	e.stack.Wait()
}
