module github.com/rexmit/rexmit/quic-go

go 1.26.0

require (
	github.com/quic-go/quic-go v0.65.0
	github.com/rexmit/rexmit/go/bubble v0.0.0
	github.com/rexmit/rexmit/go/rexmitstack v0.0.0
)

require (
	golang.org/x/crypto v0.54.0 // indirect
	golang.org/x/net v0.56.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
)

replace github.com/rexmit/rexmit/go/rexmitstack => ../../../../go/rexmitstack

replace github.com/rexmit/rexmit/go/bubble => ../../../../go/bubble
