package rexmitstack

import "encoding/binary"

const udp = 17

// Wrap puts the payload of an IP packet behind a header between the addresses of an end.
func Wrap(o Opening, protocol byte, payload []byte) []byte {
	local, remote := o.Local.Addr().AsSlice(), o.Remote.Addr().AsSlice()
	be := binary.BigEndian
	var packet []byte
	if o.Local.Addr().Is4() {
		packet = append(packet, 0x45, 0)
		packet = be.AppendUint16(packet, uint16(20+len(payload)))
		// Not to be cut up: RFC 6864 leaves the identification open then.
		packet = append(packet, 0, 0, 0x40, 0, 64, protocol, 0, 0)
		packet = append(append(packet, local...), remote...)
		be.PutUint16(packet[10:], Folded(Sum(0, packet)))
	} else {
		packet = append(packet, 0x60, 0, 0, 0)
		packet = be.AppendUint16(packet, uint16(len(payload)))
		packet = append(packet, protocol, 64)
		packet = append(append(packet, local...), remote...)
	}
	return append(packet, payload...)
}

// Unwrap is what stands behind the header of an IP packet; nil of anything else.
func Unwrap(packet []byte) []byte {
	from, to := 0, 0
	switch {
	case len(packet) >= 20 && packet[0]>>4 == 4:
		from, to = int(packet[0]&15)*4, int(binary.BigEndian.Uint16(packet[2:]))
	case len(packet) >= 40 && packet[0]>>4 == 6:
		from, to = 40, 40+int(binary.BigEndian.Uint16(packet[4:]))
	}
	if from == 0 || from > to || to > len(packet) {
		return nil
	}
	return packet[from:to]
}

// WrapUDP is the packet of a UDP datagram between the addresses and ports of an end.
func WrapUDP(o Opening, payload []byte) []byte {
	be := binary.BigEndian
	length := uint16(8 + len(payload))
	datagram := be.AppendUint16(be.AppendUint16(nil, o.Local.Port()), o.Remote.Port())
	datagram = append(append(be.AppendUint16(datagram, length), 0, 0), payload...)
	pseudo := Sum(Sum(udp+uint32(length), o.Local.Addr().AsSlice()), o.Remote.Addr().AsSlice())
	sum := Folded(Sum(pseudo, datagram))
	if sum == 0 {
		// Zero says that there is none (RFC 768).
		sum = 0xffff
	}
	be.PutUint16(datagram[6:], sum)
	return Wrap(o, udp, datagram)
}

// UnwrapUDP is the payload of the datagram in an IP packet; nil of anything else.
func UnwrapUDP(packet []byte) []byte {
	datagram := Unwrap(packet)
	if len(datagram) < 8 {
		return nil
	}
	return datagram[8:]
}

// Sum adds 16-bit words to a checksum (RFC 1071); an odd byte counts as the first of a word.
func Sum(total uint32, data []byte) uint32 {
	for ; len(data) > 1; data = data[2:] {
		total += uint32(binary.BigEndian.Uint16(data))
	}
	if len(data) == 1 {
		total += uint32(data[0]) << 8
	}
	return total
}

// Folded is the checksum of a sum.
func Folded(total uint32) uint16 {
	for total>>16 > 0 {
		total = total&0xffff + total>>16
	}
	return ^uint16(total)
}
