package main

import (
	"encoding/binary"
	"hash/crc32"
	"net"
	"os"
	"sync"
	"time"

	rs "github.com/rexmit/rexmit/go/rexmitstack"
)

const (
	protocol = 132
	// port is that of both ends in Pion, which runs over DTLS; the packets that leave have the ports of the end.
	port = 5000
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// wire is the connection that Pion sends over: packets to and from the end.
type wire struct {
	end      *end
	arriving chan []byte
	gone     chan struct{}
	close    sync.Once
}

func newWire(end *end) *wire {
	return &wire{end: end, arriving: make(chan []byte, 1<<10), gone: make(chan struct{})}
}

// arrives hands a packet of the peer's to Pion.
func (w *wire) arrives(packet []byte) {
	data := rs.Unwrap(packet)
	if len(data) < 12 {
		return
	}
	data = append([]byte(nil), data...)
	readdress(data, port, port)
	select {
	case w.arriving <- data:
	case <-w.gone:
	}
}

// readdress gives a packet other ports and the checksum that fits.
func readdress(data []byte, from, to uint16) {
	binary.BigEndian.PutUint16(data, from)
	binary.BigEndian.PutUint16(data[2:], to)
	binary.LittleEndian.PutUint32(data[8:], 0)
	binary.LittleEndian.PutUint32(data[8:], crc32.Checksum(data, castagnoli))
}

// Read implements net.Conn.
func (w *wire) Read(into []byte) (int, error) {
	select {
	case data := <-w.arriving:
		return copy(into, data), nil
	case <-w.gone:
		return 0, net.ErrClosed
	}
}

// Write implements net.Conn.
func (w *wire) Write(data []byte) (int, error) {
	select {
	case <-w.gone:
		return 0, net.ErrClosed
	default:
	}
	data = append([]byte(nil), data...)
	opening := w.end.opening
	readdress(data, opening.Local.Port(), opening.Remote.Port())
	w.end.Send(rs.Wrap(opening, protocol, data), w.end.log.why)
	return len(data), nil
}

// Close implements net.Conn.
func (w *wire) Close() error {
	w.close.Do(func() { close(w.gone) })
	return nil
}

// SetReadDeadline implements net.Conn: Pion sets one, which is over, to end its reading.
func (w *wire) SetReadDeadline(at time.Time) error {
	if !at.IsZero() && !at.After(time.Now()) {
		return w.Close()
	}
	return nil
}

// SetWriteDeadline implements net.Conn; writes never wait.
func (w *wire) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline implements net.Conn.
func (w *wire) SetDeadline(at time.Time) error { return os.ErrNoDeadline }

// LocalAddr implements net.Conn.
func (w *wire) LocalAddr() net.Addr { return net.UDPAddrFromAddrPort(w.end.opening.Local) }

// RemoteAddr implements net.Conn.
func (w *wire) RemoteAddr() net.Addr { return net.UDPAddrFromAddrPort(w.end.opening.Remote) }
