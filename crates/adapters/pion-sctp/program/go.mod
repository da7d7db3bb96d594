module github.com/rexmit/rexmit/pion-sctp

go 1.26.0

require (
	github.com/pion/logging v0.2.4
	github.com/pion/randutil v0.1.0
	github.com/pion/sctp v1.12.1
	github.com/rexmit/rexmit/go/bubble v0.0.0
	github.com/rexmit/rexmit/go/rexmitstack v0.0.0
)

require github.com/pion/transport/v5 v5.1.4 // indirect

replace github.com/rexmit/rexmit/go/rexmitstack => ../../../../go/rexmitstack

replace github.com/rexmit/rexmit/go/bubble => ../../../../go/bubble
