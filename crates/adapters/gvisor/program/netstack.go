package main

import (
	"math/rand"

	rs "github.com/rexmit/rexmit/go/rexmitstack"
	cryptorand "gvisor.dev/gvisor/pkg/rand"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

const nic = 1

// seeded serves random bytes that depend on a seed alone.
type seeded struct{ *rand.Rand }

func (s seeded) Read(p []byte) (int, error) { return s.Rand.Read(p) }

// netstack makes the stack of an end, with its one interface.
func (e *end) netstack(run *rs.Run, probe tcp.TCPProbeFunc) {
	random := seeded{rand.New(rand.NewSource(run.Random.Int63()))}
	cryptorand.Reader = random
	e.stack = stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocolWithOptions(silent)},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocolProbe(probe)},
		Clock:              &e.clock,
		RandSource:         rand.NewSource(run.Random.Int63()),
		SecureRNG:          random,
	})
	e.link = &link{Endpoint: channel.New(0, uint32(run.MTU), ""), end: e}
	must(e.stack.CreateNIC(nic, e.link))
	local := e.opening.Local.Addr()
	must(e.stack.AddProtocolAddress(nic, tcpip.ProtocolAddress{
		Protocol:          e.network(),
		AddressWithPrefix: tcpip.AddrFromSlice(local.AsSlice()).WithPrefix(),
	}, stack.AddressProperties{}))
	everywhere := header.IPv4EmptySubnet
	if local.Is6() {
		everywhere = header.IPv6EmptySubnet
	}
	e.stack.SetRouteTable([]tcpip.Route{{Destination: everywhere, NIC: nic}})
}

// silent is an IPv6 that asks nobody about addresses and routers.
var silent = ipv6.Options{NDPConfigs: ipv6.NDPConfigurations{HandleRAs: ipv6.HandlingRAsDisabled}}

// set chooses how TCP behaves: a connection that is accepted takes all of it from the stack.
func (e *end) set(s settings) {
	option := func(option tcpip.SettableTransportProtocolOption) {
		must(e.stack.SetTransportProtocolOption(tcp.ProtocolNumber, option))
	}
	sack := tcpip.TCPSACKEnabled(s.Sack)
	option(&sack)
	var detection tcpip.TCPRecovery
	if s.Rack {
		detection = tcpip.TCPRACKLossDetection
	}
	option(&detection)
	control := tcpip.CongestionControlOption(s.Congestion)
	option(&control)
	tunes := tcpip.TCPModerateReceiveBufferOption(s.MostReceive > s.ReceiveBuffer)
	option(&tunes)
	nagle := tcpip.TCPDelayEnabled(s.Nagle)
	option(&nagle)
	least := tcpip.TCPMinRTOOption(s.MinRTO)
	option(&least)
	send := tcpip.TCPSendBufferSizeRangeOption{Min: 1, Default: s.SendBuffer, Max: s.SendBuffer}
	option(&send)
	most := max(s.ReceiveBuffer, s.MostReceive)
	receive := tcpip.TCPReceiveBufferSizeRangeOption{Min: 1, Default: s.ReceiveBuffer, Max: most}
	option(&receive)
}

// link hands what the stack sends to its end.
type link struct {
	*channel.Endpoint
	end *end
}

// WritePackets implements stack.LinkWriter.
func (l *link) WritePackets(packets stack.PacketBufferList) (int, tcpip.Error) {
	for _, packet := range packets.AsSlice() {
		if packet.TransportProtocolNumber == tcp.ProtocolNumber {
			whole := packet.ToView()
			l.end.Send(whole.AsSlice(), l.end.why())
			whole.Release()
		}
	}
	return packets.Len(), nil
}
