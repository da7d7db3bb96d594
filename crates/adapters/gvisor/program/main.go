// Program gvisor is netstack, the TCP of gVisor, as a stack of rexmit's. Each end of a connection is a netstack of its own,
// whose clock is the run's.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"

	rs "github.com/rexmit/rexmit/go/rexmitstack"
	"gvisor.dev/gvisor/pkg/log"
)

// settings are what crates/adapters/gvisor tells: sizes in bytes, times in nanoseconds.
type settings struct {
	Congestion    string `json:"congestion"`
	Sack          bool   `json:"sack"`
	Rack          bool   `json:"rack"`
	Nagle         bool   `json:"nagle"`
	SendBuffer    int    `json:"send_buffer"`
	ReceiveBuffer int    `json:"receive_buffer"`
	MostReceive   int    `json:"receive_buffer_max"`
	MinRTO        int64  `json:"min_rto"`
}

// defaults are what gVisor itself chooses; crates/adapters/gvisor has them too.
var defaults = settings{
	Congestion: "reno", Sack: true, Rack: true,
	SendBuffer: 1 << 20, ReceiveBuffer: 1 << 20, MostReceive: 4 << 20, MinRTO: 200_000_000,
}

func main() {
	// With one processor a goroutine that steps aside knows that all others have run.
	runtime.GOMAXPROCS(1)
	log.SetLevel(log.Warning)
	var ends []*end
	make := func(run *rs.Run, opening rs.Opening, line *rs.Line) rs.End {
		settings := defaults
		must(json.Unmarshal(run.Settings, &settings))
		end := newEnd(run, opening, line, settings)
		ends = append(ends, end)
		return end
	}
	over := func() {
		for _, end := range ends {
			end.close()
		}
		ends = nil
	}
	stack := rs.Stack{Name: "gvisor", Build: rs.Release("gvisor.dev/gvisor"), Protocols: "tcp", Forgets: true, Make: make, Over: over}
	if err := rs.Serve(stack); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func must(err any) {
	if err != nil {
		panic(err)
	}
}
