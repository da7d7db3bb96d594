package rexmitstack

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"testing"
)

func between(local, remote string) Opening {
	return Opening{Local: netip.MustParseAddrPort(local), Remote: netip.MustParseAddrPort(remote)}
}

func TestADatagramComesOutAsItWentIn(t *testing.T) {
	for _, ends := range [][2]string{{"10.0.0.1:1", "10.0.0.2:65535"}, {"[fd00::1]:1", "[fd00::2]:2"}} {
		for _, payload := range []string{"", "odd", "even"} {
			packet := WrapUDP(between(ends[0], ends[1]), []byte(payload))
			got := UnwrapUDP(packet)
			if got == nil || string(got) != payload {
				t.Errorf("%v: %q came out as %q", ends, payload, got)
			}
			if packet[0]>>4 == 4 && Folded(Sum(0, packet[:20])) != 0 {
				t.Errorf("%v: the header's checksum does not fit: %x", ends, packet[:20])
			}
		}
	}
}

func TestGarbageIsNoPacket(t *testing.T) {
	for length := 0; length < 60; length++ {
		for _, first := range []byte{0x00, 0x45, 0x4f, 0x60, 0xff} {
			packet := bytes.Repeat([]byte{0xff}, length)
			if length > 0 {
				packet[0] = first
			}
			if got := UnwrapUDP(packet); got != nil {
				t.Errorf("%d bytes from %#x on are a datagram of %d", length, first, len(got))
			}
		}
	}
}

// RFC 1071, section 3: the words 0001 f203 f4f5 f6f7 sum to ddf2.
func TestTheChecksumIsThatOfItsRFC(t *testing.T) {
	data, _ := hex.DecodeString("0001f203f4f5f6f7")
	if sum := Folded(Sum(0, data)); sum != ^uint16(0xddf2) {
		t.Errorf("%#x", sum)
	}
	if odd := Sum(0, []byte{1}); odd != 0x100 {
		t.Errorf("an odd byte counts as %#x", odd)
	}
}
