package main

import (
	"errors"
	"io"

	"github.com/quic-go/quic-go"
	rs "github.com/rexmit/rexmit/go/rexmitstack"
)

const (
	// ahead is how much of a stream is read before the application has.
	ahead = 1 << 15
	// most is how much the application writes on one stream before quic-go has taken it.
	most = 1 << 20
)

// writer is a stream of ours: writes wait, as those of a goroutine do, until quic-go has taken the ones before.
type writer struct {
	stream  *quic.SendStream
	writes  chan []byte
	waiting int
	closed  bool
}

// writer is the stream of this number, opened with those before it where it is new; nil while the peer allows no more.
func (e *end) writer(number uint16) *writer {
	for len(e.own) <= int(number) {
		stream, err := e.connection.OpenUniStream()
		if err != nil {
			return nil
		}
		w := &writer{stream: stream, writes: make(chan []byte, 1<<12)}
		e.own = append(e.own, w)
		go e.write(w)
	}
	return e.own[number]
}

func (e *end) write(w *writer) {
	for bytes := range w.writes {
		if _, err := w.stream.Write(bytes); err != nil {
			return
		}
		e.lock.Lock()
		w.waiting -= len(bytes)
		e.lock.Unlock()
	}
	_ = w.stream.Close()
}

func (w *writer) finish() {
	if !w.closed {
		w.closed = true
		close(w.writes)
	}
}

// leave lets its goroutine end.
func (w *writer) leave() {
	w.stream.CancelWrite(0)
	w.finish()
}

// room says that every stream takes more.
func (e *end) room() bool {
	for _, writer := range e.own {
		if writer.waiting >= most || len(writer.writes) == cap(writer.writes) {
			return false
		}
	}
	return e.connection != nil && e.datagrams.taken == e.datagrams.given
}

// written says that quic-go has taken all.
func (e *end) written() bool {
	for _, writer := range e.own {
		if writer.waiting > 0 {
			return false
		}
	}
	return true
}

// Write implements bubble.End.
func (e *end) Write(data []byte, how rs.How) int {
	if e.connection == nil || e.closing {
		return 0
	}
	if how.Datagram {
		return e.writeDatagram(data)
	}
	w := e.writer(how.Stream)
	if w == nil || !e.room() {
		e.short = true
		return 0
	}
	w.waiting += len(data)
	w.writes <- append([]byte(nil), data...)
	return len(data)
}

// piece waits to be read; taken says that more of its stream may be.
type piece struct {
	stream uint16
	bytes  []byte
	taken  chan struct{}
}

// read keeps the next bytes of a stream until the application has taken them.
func (e *end) read(stream *quic.ReceiveStream) {
	buffer := make([]byte, ahead)
	for {
		n, err := stream.Read(buffer)
		if n > 0 {
			next := &piece{uint16(stream.StreamID() / 4), append([]byte(nil), buffer[:n]...), make(chan struct{})}
			e.lock.Lock()
			e.inbox = append(e.inbox, next)
			e.lock.Unlock()
			<-next.taken
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				e.lock.Lock()
				e.ended++
				e.lock.Unlock()
			}
			return
		}
	}
}

// Read implements bubble.End.
func (e *end) Read(limit int) *rs.Data {
	if len(e.datagrams.inbox) > 0 {
		return e.readDatagram()
	}
	if len(e.inbox) == 0 {
		return nil
	}
	first := e.inbox[0]
	size := min(limit, len(first.bytes))
	data := &rs.Data{Stream: first.stream, Place: rs.Follows, Bytes: first.bytes[:size]}
	first.bytes = first.bytes[size:]
	if len(first.bytes) == 0 {
		e.inbox = e.inbox[1:]
		close(first.taken)
	}
	return data
}
