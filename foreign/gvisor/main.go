// Program gvisor runs netstack, the TCP of gVisor, in virtual time, for the judgements of foreign/: it is asked on its
// standard input, and answers on its standard output.
//
// A question is a length (4 bytes, little-endian as all numbers are), a letter and a number of a host (a byte each), and:
//
//	n  a new host in the place of the one before: the settings, 8 bytes each
//	r  the time in ns (8 bytes) and a packet that arrives
//	w  the time in ns: timers run, the application acts
//
// An answer is a length, the time at which to ask w next (8 bytes, all ones for never), and the packets that leave: what
// sent it, whether each of the counters of retransmissions, of recoveries and of timeouts has moved since the packet
// before (a byte each), a length, and its bytes.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"os"
	"runtime"
	"time"

	"gvisor.dev/gvisor/pkg/log"
)

func main() {
	// With one processor a goroutine that steps aside knows that all others have run.
	runtime.GOMAXPROCS(1)
	log.SetLevel(log.Warning)
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	var hosts [2]*host
	for {
		question, err := read(in)
		if err == io.EOF {
			return
		}
		must(err)
		letter, h, body := question[0], &hosts[question[1]], question[2:]
		if letter == 'n' {
			if *h != nil {
				(*h).close()
			}
			var settings settings
			must(binary.Read(bytes.NewReader(body), binary.LittleEndian, &settings))
			*h = newHost(settings)
			(*h).settle()
		} else {
			(*h).clock.Set(time.Duration(binary.LittleEndian.Uint64(body)))
			switch letter {
			case 'r':
				(*h).receive(body[8:])
			case 'w':
				(*h).wake()
			default:
				panic("a question that is none of n, r and w")
			}
		}
		must(answer(out, *h))
	}
}

func read(in io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(in, size[:]); err != nil {
		return nil, err
	}
	question := make([]byte, binary.LittleEndian.Uint32(size[:]))
	_, err := io.ReadFull(in, question)
	return question, err
}

func answer(out *bufio.Writer, h *host) error {
	next := uint64(math.MaxUint64)
	if due, set := h.next(); set {
		next = uint64(due)
	}
	head := binary.LittleEndian.AppendUint32(nil, uint32(8+len(h.link.sent)))
	head = binary.LittleEndian.AppendUint64(head, next)
	out.Write(head)
	out.Write(h.link.sent)
	h.link.sent = h.link.sent[:0]
	return out.Flush()
}
