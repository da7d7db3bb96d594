package main

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"math/rand"
	"runtime"
	"time"

	"github.com/rexmit/rexmit/go/netclock"
	"gvisor.dev/gvisor/pkg/buffer"
	cryptorand "gvisor.dev/gvisor/pkg/rand"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

const (
	nic = 1
	// backlog is above one, at which a listener always answers with a SYN cookie.
	backlog     = 16
	passivePort = 5001
	activePort  = 40000
	// yields is how often a goroutine of ours steps aside so that netstack's, of which each wakes one other at most,
	// come to rest.
	yields = 8
)

// settings are what foreign/src/gvisor.rs sends of a new host, in this order, all as numbers.
type settings struct {
	Seed, Sends, Opens, MTU         uint64
	Cubic, SACK, RACK, Nagle        uint64
	SendBuffer, ReceiveBuffer, Tune uint64
	// Left is what the application writes, in bytes; it reads without end if it does not write.
	Left, Piece, Pause uint64
}

// host is a stack with one connection and an application.
type host struct {
	settings settings
	clock    netclock.Clock
	stack    *stack.Stack
	link     *link
	queue    waiter.Queue
	endpoint tcpip.Endpoint
	listener tcpip.Endpoint
	// closed: the application has closed its side.
	closed bool
	// actsAt is when the application acts again.
	actsAt time.Duration
}

// seeded serves random bytes that depend on a seed alone.
type seeded struct{ *rand.Rand }

func (s seeded) Read(p []byte) (int, error) { return s.Rand.Read(p) }

func newHost(settings settings) *host {
	h := &host{settings: settings}
	h.clock.Set(0)
	random := rand.New(rand.NewSource(int64(settings.Seed)))
	cryptorand.Reader = seeded{random}
	h.stack = stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
		Clock:              &h.clock,
		RandSource:         rand.NewSource(int64(settings.Seed)),
		SecureRNG:          seeded{random},
	})
	h.link = &link{Endpoint: channel.New(0, uint32(settings.MTU), ""), stack: h.stack}
	must(h.stack.CreateNIC(nic, h.link))
	must(h.stack.AddProtocolAddress(nic, tcpip.ProtocolAddress{
		Protocol:          ipv4.ProtocolNumber,
		AddressWithPrefix: tcpip.AddressWithPrefix{Address: address(settings.Sends == 1), PrefixLen: 8},
	}, stack.AddressProperties{}))
	h.stack.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nic}})
	h.set()
	endpoint, err := h.stack.NewEndpoint(tcp.ProtocolNumber, ipv4.ProtocolNumber, &h.queue)
	must(err)
	h.configure(endpoint)
	if settings.Opens == 1 {
		must(endpoint.Bind(tcpip.FullAddress{Port: activePort}))
		peer := tcpip.FullAddress{NIC: nic, Addr: address(settings.Sends == 0), Port: passivePort}
		if err := endpoint.Connect(peer); err != nil {
			if _, started := err.(*tcpip.ErrConnectStarted); !started {
				must(err)
			}
		}
		h.endpoint = endpoint
	} else {
		must(endpoint.Bind(tcpip.FullAddress{Port: passivePort}))
		must(endpoint.Listen(backlog))
		h.listener = endpoint
	}
	return h
}

// set chooses how TCP behaves on all of the stack.
func (h *host) set() {
	s := &h.settings
	sack := tcpip.TCPSACKEnabled(s.SACK == 1)
	must(h.stack.SetTransportProtocolOption(tcp.ProtocolNumber, &sack))
	var detection tcpip.TCPRecovery
	if s.RACK == 1 {
		detection = tcpip.TCPRACKLossDetection
	}
	must(h.stack.SetTransportProtocolOption(tcp.ProtocolNumber, &detection))
	control := tcpip.CongestionControlOption("reno")
	if s.Cubic == 1 {
		control = "cubic"
	}
	must(h.stack.SetTransportProtocolOption(tcp.ProtocolNumber, &control))
	tune := tcpip.TCPModerateReceiveBufferOption(s.Tune == 1)
	must(h.stack.SetTransportProtocolOption(tcp.ProtocolNumber, &tune))
	delay := tcpip.TCPDelayEnabled(s.Nagle == 1)
	must(h.stack.SetTransportProtocolOption(tcp.ProtocolNumber, &delay))
	// A connection that is accepted takes its buffers from the stack.
	send := tcpip.TCPSendBufferSizeRangeOption{Min: 1, Default: int(s.SendBuffer), Max: math.MaxInt32}
	must(h.stack.SetTransportProtocolOption(tcp.ProtocolNumber, &send))
	receive := tcpip.TCPReceiveBufferSizeRangeOption{Min: 1, Default: int(s.ReceiveBuffer), Max: math.MaxInt32}
	must(h.stack.SetTransportProtocolOption(tcp.ProtocolNumber, &receive))
}

func (h *host) configure(endpoint tcpip.Endpoint) {
	endpoint.SocketOptions().SetSendBufferSize(int64(h.settings.SendBuffer), true)
	endpoint.SocketOptions().SetReceiveBufferSize(int64(h.settings.ReceiveBuffer), true)
	endpoint.SocketOptions().SetDelayOption(h.settings.Nagle == 1)
}

func address(sends bool) tcpip.Address {
	if sends {
		return tcpip.AddrFrom4([4]byte{10, 0, 2, 1})
	}
	return tcpip.AddrFrom4([4]byte{10, 0, 1, 1})
}

// receive lets a packet arrive.
func (h *host) receive(packet []byte) {
	p := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(packet)})
	h.link.InjectInbound(ipv4.ProtocolNumber, p)
	p.DecRef()
	h.settle()
}

// wake runs the timers that are due, and the application.
func (h *host) wake() {
	for h.clock.Fire() {
		h.settle()
	}
	h.settle()
}

// settle lets stack and application act until neither does anything more.
func (h *host) settle() {
	for {
		for range yields {
			runtime.Gosched()
		}
		if !h.act() {
			return
		}
	}
}

// next is when to call wake; false if nothing is due until a packet arrives.
func (h *host) next() (time.Duration, bool) {
	due, set := h.clock.Next()
	if h.actsAt > h.clock.Shows() && (!set || h.actsAt-netclock.Epoch < due) {
		return h.actsAt - netclock.Epoch, true
	}
	return due, set
}

// act lets the application do what it can; true if it did something.
func (h *host) act() bool {
	if h.listener != nil && h.endpoint == nil {
		endpoint, _, err := h.listener.Accept(nil)
		if err != nil {
			return false
		}
		h.endpoint = endpoint
		h.configure(endpoint)
	}
	if h.endpoint == nil || h.closed || h.actsAt > h.clock.Shows() {
		return false
	}
	if h.settings.Sends == 1 {
		return h.write()
	}
	return h.read()
}

func (h *host) write() bool {
	s := &h.settings
	if s.Left == 0 {
		h.closed = true
		// A connection that has failed meanwhile cannot be closed.
		return h.endpoint.Shutdown(tcpip.ShutdownWrite) == nil
	}
	n, err := h.endpoint.Write(bytes.NewReader(make([]byte, min(s.Piece, s.Left))), tcpip.WriteOptions{})
	if err != nil || n == 0 {
		return false
	}
	s.Left -= uint64(n)
	h.rest()
	return true
}

func (h *host) read() bool {
	into := tcpip.LimitedWriter{W: io.Discard, N: int64(min(h.settings.Piece, math.MaxInt32))}
	result, err := h.endpoint.Read(&into, tcpip.ReadOptions{})
	switch err.(type) {
	case nil:
		if result.Count > 0 {
			h.rest()
		}
		return result.Count > 0
	case *tcpip.ErrClosedForReceive:
		h.closed = true
		return h.endpoint.Shutdown(tcpip.ShutdownWrite) == nil
	default:
		return false
	}
}

// rest makes the application pause as it is told to.
func (h *host) rest() {
	if h.settings.Pause > 0 {
		h.actsAt = h.clock.Shows() + time.Duration(h.settings.Pause)
	}
}

func (h *host) close() {
	h.stack.Close()
	for range yields {
		runtime.Gosched()
	}
	h.stack.Wait()
}

// link keeps what the stack sends, with what its sender says of it.
type link struct {
	*channel.Endpoint
	stack *stack.Stack
	sent  []byte
	// The counters of the stack as the packet before left.
	retransmits, recoveries, timeouts uint64
}

// WritePackets implements stack.LinkWriter.
func (l *link) WritePackets(packets stack.PacketBufferList) (int, tcpip.Error) {
	stats := l.stack.Stats().TCP
	for _, packet := range packets.AsSlice() {
		whole := packet.ToView()
		retransmits, timeouts := stats.Retransmits.Value(), stats.Timeouts.Value()
		recoveries := stats.FastRecovery.Value() + stats.SACKRecovery.Value()
		l.sent = append(l.sent, byte(caller()),
			moved(&l.retransmits, retransmits), moved(&l.recoveries, recoveries), moved(&l.timeouts, timeouts))
		l.sent = binary.LittleEndian.AppendUint32(l.sent, uint32(whole.Size()))
		l.sent = append(l.sent, whole.AsSlice()...)
		whole.Release()
	}
	return packets.Len(), nil
}

// moved is 1 if a counter is not what it was, and keeps it.
func moved(before *uint64, now uint64) byte {
	if *before == now {
		return 0
	}
	*before = now
	return 1
}

func must(err any) {
	if err != nil {
		panic(err)
	}
}
