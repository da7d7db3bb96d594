module github.com/rexmit/rexmit/go/rexmitstack

go 1.21
