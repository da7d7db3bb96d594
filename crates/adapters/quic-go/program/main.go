// Program quic-go is the QUIC of quic-go as a stack of rexmit's.
package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"os"

	"github.com/quic-go/quic-go"
	"github.com/rexmit/rexmit/go/bubble"
	rs "github.com/rexmit/rexmit/go/rexmitstack"
)

// settings are what crates/adapters/quic-go tells: sizes in bytes, times in nanoseconds, DER in base 64.
type settings struct {
	Certificate   []byte `json:"certificate"`
	Key           []byte `json:"key"`
	PacketSize    uint16 `json:"packet_size"`
	StreamWindow  uint64 `json:"stream_window"`
	MostStream    uint64 `json:"stream_window_max"`
	ReceiveWindow uint64 `json:"receive_window"`
	MostReceive   uint64 `json:"receive_window_max"`
	IdleTimeout   int64  `json:"idle_timeout"`
	KeepAlive     int64  `json:"keep_alive"`
	ZeroRTT       bool   `json:"zero_rtt"`
}

// host is what the ends of a run share.
type host struct {
	run      *rs.Run
	settings settings
	server   *tls.Config
	sessions tls.ClientSessionCache
	ends     []*end
}

func main() {
	var now *host
	make := func(run *rs.Run, opening rs.Opening, line *rs.Line) bubble.End {
		if now == nil {
			now = newHost(run)
		}
		end := newEnd(now, opening, line)
		now.ends = append(now.ends, end)
		return end
	}
	over := func() {
		if now == nil {
			return
		}
		for _, end := range now.ends {
			end.leave()
		}
		now = nil
	}
	stack := bubble.Stack{
		Name: "quic-go", Build: rs.Release("github.com/quic-go/quic-go"), Protocols: "quic", Datagrams: true, Make: make,
		Over: over,
	}
	if err := bubble.Serve(stack); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func newHost(run *rs.Run) *host {
	h := &host{run: run, sessions: tls.NewLRUClientSessionCache(64)}
	must(json.Unmarshal(run.Settings, &h.settings))
	h.server = h.serverTLS()
	return h
}

// config is quic-go's own configuration, with what the scenario sets.
func (h *host) config(opening rs.Opening) *quic.Config {
	s := h.settings
	headers := 28
	if opening.Local.Addr().Is6() {
		headers = 48
	}
	streams := max(int64(opening.Streams), 100)
	return &quic.Config{
		InitialPacketSize:              uint16(min(int(s.PacketSize), h.run.MTU-headers)),
		InitialStreamReceiveWindow:     s.StreamWindow,
		MaxStreamReceiveWindow:         s.MostStream,
		InitialConnectionReceiveWindow: s.ReceiveWindow,
		MaxConnectionReceiveWindow:     s.MostReceive,
		MaxIncomingUniStreams:          streams,
		MaxIdleTimeout:                 nanoseconds(s.IdleTimeout),
		KeepAlivePeriod:                nanoseconds(s.KeepAlive),
		Allow0RTT:                      true,
		EnableDatagrams:                opening.Datagrams,
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
