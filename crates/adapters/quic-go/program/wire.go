package main

import (
	"net"

	"github.com/rexmit/rexmit/go/bubble"
	rs "github.com/rexmit/rexmit/go/rexmitstack"
)

// wire is the socket that quic-go sends and receives with: datagrams to and from the end.
type wire struct{ *bubble.Wire }

func newWire(e *end) wire {
	return wire{bubble.NewWire(e.opening, func(datagram []byte) {
		e.Send(rs.WrapUDP(e.opening, datagram), e.log.why(len(datagram)))
	})}
}

// arrives hands a packet of the peer's to quic-go.
func (w wire) arrives(packet []byte) {
	if datagram := rs.UnwrapUDP(packet); datagram != nil {
		w.Arrives(datagram)
	}
}

// ReadFrom implements net.PacketConn.
func (w wire) ReadFrom(into []byte) (int, net.Addr, error) {
	n, err := w.Read(into)
	return n, w.RemoteAddr(), err
}

// WriteTo implements net.PacketConn.
func (w wire) WriteTo(datagram []byte, _ net.Addr) (int, error) { return w.Write(datagram) }

// SetReadBuffer is there so that quic-go does not warn that it cannot set one.
func (w wire) SetReadBuffer(int) error { return nil }

// SetWriteBuffer is there so that quic-go does not warn that it cannot set one.
func (w wire) SetWriteBuffer(int) error { return nil }
