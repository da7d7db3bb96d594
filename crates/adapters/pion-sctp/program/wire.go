package main

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/rexmit/rexmit/go/bubble"
	rs "github.com/rexmit/rexmit/go/rexmitstack"
)

const (
	protocol = 132
	// port is that of both ends in Pion, which runs over DTLS; the packets that leave have the ports of the end.
	port = 5000
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// newWire is the connection that Pion sends over: packets to and from the end.
func newWire(e *end) *bubble.Wire {
	return bubble.NewWire(e.opening, func(data []byte) {
		data = append([]byte(nil), data...)
		readdress(data, e.opening.Local.Port(), e.opening.Remote.Port())
		e.Send(rs.Wrap(e.opening, protocol, data), e.log.why)
	})
}

// arrives hands a packet of the peer's to Pion.
func (e *end) arrives(packet []byte) {
	data := rs.Unwrap(packet)
	if len(data) < 12 {
		return
	}
	data = append([]byte(nil), data...)
	readdress(data, port, port)
	e.wire.Arrives(data)
}

// readdress gives a packet other ports and the checksum that fits.
func readdress(data []byte, from, to uint16) {
	binary.BigEndian.PutUint16(data, from)
	binary.BigEndian.PutUint16(data[2:], to)
	binary.LittleEndian.PutUint32(data[8:], 0)
	binary.LittleEndian.PutUint32(data[8:], crc32.Checksum(data, castagnoli))
}
