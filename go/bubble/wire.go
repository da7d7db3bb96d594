package bubble

import (
	"net"
	"sync"
	"time"

	rs "github.com/rexmit/rexmit/go/rexmitstack"
)

// Wire is the connection that code for sockets sends and receives with, as net.Conn has it.
type Wire struct {
	opening  rs.Opening
	send     func(data []byte)
	arriving chan []byte
	gone     chan struct{}
	close    sync.Once
}

// NewWire is that of an end; send lets what was written leave.
func NewWire(opening rs.Opening, send func(data []byte)) *Wire {
	return &Wire{opening: opening, send: send, arriving: make(chan []byte, 1<<10), gone: make(chan struct{})}
}

// Arrives hands over what has come from the peer; a copy of it is kept.
func (w *Wire) Arrives(data []byte) {
	select {
	case w.arriving <- append([]byte(nil), data...):
	case <-w.gone:
	}
}

// Read implements net.Conn.
func (w *Wire) Read(into []byte) (int, error) {
	select {
	case data := <-w.arriving:
		return copy(into, data), nil
	case <-w.gone:
		return 0, net.ErrClosed
	}
}

// Write implements net.Conn.
func (w *Wire) Write(data []byte) (int, error) {
	select {
	case <-w.gone:
		return 0, net.ErrClosed
	default:
	}
	w.send(data)
	return len(data), nil
}

// Close implements net.Conn.
func (w *Wire) Close() error {
	w.close.Do(func() { close(w.gone) })
	return nil
}

// SetReadDeadline implements net.Conn: one that is over ends all reading, which is what it is set for.
func (w *Wire) SetReadDeadline(at time.Time) error {
	if !at.IsZero() && !at.After(time.Now()) {
		return w.Close()
	}
	return nil
}

// SetWriteDeadline implements net.Conn; writes never wait.
func (w *Wire) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline implements net.Conn.
func (w *Wire) SetDeadline(at time.Time) error { return w.SetReadDeadline(at) }

// LocalAddr implements net.Conn.
func (w *Wire) LocalAddr() net.Addr { return net.UDPAddrFromAddrPort(w.opening.Local) }

// RemoteAddr implements net.Conn.
func (w *Wire) RemoteAddr() net.Addr { return net.UDPAddrFromAddrPort(w.opening.Remote) }
