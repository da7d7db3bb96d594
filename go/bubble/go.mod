module github.com/rexmit/rexmit/go/bubble

go 1.26.0

require github.com/rexmit/rexmit/go/rexmitstack v0.0.0

replace github.com/rexmit/rexmit/go/rexmitstack => ../rexmitstack
