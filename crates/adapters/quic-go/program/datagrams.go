package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/quic-go/quic-go"
	rs "github.com/rexmit/rexmit/go/rexmitstack"
)

// datagrams are those of an end (RFC 9221). One for which quic-go's queue has no room waits with its goroutine, and the application
// with it: none is dropped.
type datagrams struct {
	writes chan []byte
	// taken is how many the application has written, and given how many of them quic-go's queue has taken.
	taken, given int
	// size is what the application has written in bytes.
	size int
	// limit is how many bytes would have fitted, where one was too long.
	limit   int
	inbox   [][]byte
	waiting int
}

// serveDatagrams hands over those of both directions once there is a connection.
func (e *end) serveDatagrams() {
	if !e.opening.Datagrams {
		return
	}
	e.datagrams.writes = make(chan []byte, 1)
	go e.sendDatagrams()
	go e.receiveDatagrams()
}

func (e *end) sendDatagrams() {
	for bytes := range e.datagrams.writes {
		err := e.connection.SendDatagram(bytes)
		var long *quic.DatagramTooLargeError
		e.lock.Lock()
		switch {
		case errors.As(err, &long):
			e.datagrams.limit = int(long.MaxDatagramPayloadSize)
		case err == nil:
			e.datagrams.given++
		case e.connection.Context().Err() == nil:
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		e.lock.Unlock()
	}
}

func (e *end) receiveDatagrams() {
	for {
		bytes, err := e.connection.ReceiveDatagram(context.Background())
		if err != nil {
			return
		}
		e.lock.Lock()
		e.datagrams.inbox = append(e.datagrams.inbox, bytes)
		e.datagrams.waiting += len(bytes)
		e.lock.Unlock()
	}
}

// writeDatagram hands one to its goroutine, which has tried to send it before the call is answered.
func (e *end) writeDatagram(data []byte) int {
	d := &e.datagrams
	if d.taken > d.given {
		e.short = true
		return 0
	}
	d.taken++
	d.size += len(data)
	d.writes <- append([]byte(nil), data...)
	return len(data)
}

// datagramsLeft says that quic-go has sent all.
func (e *end) datagramsLeft() bool {
	return e.datagrams.taken == e.datagrams.given && e.log.datagrams >= e.datagrams.given
}

// readDatagram gives the first of those that have come.
func (e *end) readDatagram() *rs.Data {
	d := &e.datagrams
	first := d.inbox[0]
	d.inbox = d.inbox[1:]
	d.waiting -= len(first)
	return &rs.Data{Place: rs.Follows, Bytes: first, Datagram: true}
}
