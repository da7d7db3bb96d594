// Program pion-sctp is the SCTP of Pion as a stack of rexmit's.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/rexmit/rexmit/go/bubble"
	rs "github.com/rexmit/rexmit/go/rexmitstack"
)

// settings are what crates/adapters/pion-sctp tells: sizes in bytes, times in milliseconds. Zero leaves Pion's own.
type settings struct {
	MTU           uint32  `json:"mtu"`
	SendBuffer    uint64  `json:"send_buffer"`
	ReceiveBuffer uint32  `json:"receive_buffer"`
	Message       uint32  `json:"max_message"`
	MaxRTO        float64 `json:"max_rto"`
	MinCwnd       uint32  `json:"min_cwnd"`
}

// defaults are those of crates/adapters/pion-sctp too.
var defaults = settings{SendBuffer: 1 << 20, Message: 4 << 20}

func main() {
	var ends []*end
	make := func(run *rs.Run, opening rs.Opening, line *rs.Line) bubble.End {
		chosen := defaults
		must(json.Unmarshal(run.Settings, &chosen))
		generator = drawn{run.Random}
		end := newEnd(run, opening, line, chosen)
		ends = append(ends, end)
		return end
	}
	over := func() {
		for _, end := range ends {
			end.leave()
		}
		ends = nil
	}
	stack := bubble.Stack{Name: "pion-sctp", Build: rs.Release("github.com/pion/sctp"), Protocols: "sctp", Make: make, Over: over}
	if err := bubble.Serve(stack); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
