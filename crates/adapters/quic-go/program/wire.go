package main

import (
	"net"
	"sync"
	"time"

	rs "github.com/rexmit/rexmit/go/rexmitstack"
)

// wire is the socket that quic-go sends and receives with: datagrams to and from the end.
type wire struct {
	end      *end
	arriving chan []byte
	gone     chan struct{}
	close    sync.Once
}

func newWire(end *end) *wire {
	return &wire{end: end, arriving: make(chan []byte, 1<<10), gone: make(chan struct{})}
}

// arrives hands a packet of the peer's to quic-go.
func (w *wire) arrives(packet []byte) {
	datagram := rs.UnwrapUDP(packet)
	if datagram == nil {
		return
	}
	select {
	case w.arriving <- append([]byte(nil), datagram...):
	case <-w.gone:
	}
}

// ReadFrom implements net.PacketConn.
func (w *wire) ReadFrom(into []byte) (int, net.Addr, error) {
	select {
	case datagram := <-w.arriving:
		return copy(into, datagram), w.remote(), nil
	case <-w.gone:
		return 0, nil, net.ErrClosed
	}
}

// WriteTo implements net.PacketConn.
func (w *wire) WriteTo(datagram []byte, _ net.Addr) (int, error) {
	select {
	case <-w.gone:
		return 0, net.ErrClosed
	default:
	}
	w.end.Send(rs.WrapUDP(w.end.opening, datagram), w.end.log.why(len(datagram)))
	return len(datagram), nil
}

// Close implements net.PacketConn.
func (w *wire) Close() error {
	w.close.Do(func() { close(w.gone) })
	return nil
}

// SetReadDeadline implements net.PacketConn: quic-go sets one, which is over, to end its reading.
func (w *wire) SetReadDeadline(at time.Time) error {
	if !at.IsZero() && !at.After(time.Now()) {
		return w.Close()
	}
	return nil
}

// SetWriteDeadline implements net.PacketConn; writes never wait.
func (w *wire) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline implements net.PacketConn.
func (w *wire) SetDeadline(at time.Time) error { return w.SetReadDeadline(at) }

// SetReadBuffer is there so that quic-go does not warn that it cannot set one.
func (w *wire) SetReadBuffer(int) error { return nil }

// SetWriteBuffer is there so that quic-go does not warn that it cannot set one.
func (w *wire) SetWriteBuffer(int) error { return nil }

// LocalAddr implements net.PacketConn.
func (w *wire) LocalAddr() net.Addr { return net.UDPAddrFromAddrPort(w.end.opening.Local) }

func (w *wire) remote() net.Addr { return net.UDPAddrFromAddrPort(w.end.opening.Remote) }
