package rexmitstack

import (
	"encoding/binary"
	"io"
	"syscall"
	"unsafe"
)

const (
	// descriptor is the program's line to rexmit.
	descriptor = 3
	// piece is how many bytes are read at once.
	piece = 1 << 16
	// soon is how long rexmit may take for its next call before the scheduler is told that the program waits.
	soon = 1000 // us
	// headSize is the size of what comes before the items of an answer: their length with the kind, and the kind.
	headSize = 5
)

// frames are rexmit's calls and the answers to them, on the line.
//
// While rexmit decides what to call next, a few microseconds, no goroutine of the program has anything to do. So the system
// calls are raw ones: those of package os tell Go's scheduler, which would wake threads to take over, at several times the cost
// of a call. Only a wait that lasts is made known to it: the scheduler's own work, as that of the garbage collector, goes on then.
type frames struct {
	read []byte
	// What has been read and not been used.
	from, to int
	// raw says that a raw read ends by itself after a while.
	raw bool
	// memory is the line through memory that is offered, and whether it is in use.
	memory *memory
	mapped bool
}

func newFrames() *frames {
	patience := syscall.Timeval{Usec: soon}
	err := syscall.SetsockoptTimeval(descriptor, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &patience)
	return &frames{read: make([]byte, piece), raw: err == nil, memory: newMemory()}
}

// offered says that there is a line through memory that is not in use yet.
func (f *frames) offered() bool { return f.memory != nil && !f.mapped }

// takeUp uses the line through memory from now on, if there is one.
func (f *frames) takeUp() { f.mapped = f.memory != nil }

// next is the next call without its length. io.EOF says that rexmit is gone.
func (f *frames) next() ([]byte, error) {
	if f.mapped {
		if call := f.memory.next(); call != nil {
			return call, nil
		}
	}
	if err := f.need(4); err != nil {
		return nil, err
	}
	size := int(binary.LittleEndian.Uint32(f.read[f.from:]))
	if err := f.need(4 + size); err != nil {
		return nil, err
	}
	// A stack may keep what it is given.
	call := append([]byte(nil), f.read[f.from+4:f.from+4+size]...)
	f.from += 4 + size
	return call, nil
}

// need reads until so many bytes wait to be used.
func (f *frames) need(size int) error {
	if f.from == f.to {
		f.from, f.to = 0, 0
	}
	if f.from+size > len(f.read) {
		read := f.read
		if size > len(read) {
			read = make([]byte, size)
		}
		f.to = copy(read, f.read[f.from:f.to])
		f.read, f.from = read, 0
	}
	for f.to-f.from < size {
		got, err := f.receive(f.read[f.to:])
		if err != nil {
			return err
		}
		f.to += got
	}
	return nil
}

func (f *frames) receive(into []byte) (int, error) {
	read := syscall.RawSyscall
	if !f.raw {
		read = syscall.Syscall
	}
	for {
		got, _, errno := read(syscall.SYS_READ, descriptor, uintptr(unsafe.Pointer(&into[0])), uintptr(len(into)))
		switch {
		case errno == syscall.EAGAIN:
			wait()
		case errno == syscall.EINTR:
		case errno != 0:
			return 0, errno
		case got == 0:
			return 0, io.EOF
		default:
			return int(got), nil
		}
	}
}

// wait waits for rexmit's next call, and lets the scheduler know.
func wait() {
	readable := struct {
		descriptor      int32
		events, revents int16
	}{descriptor: descriptor, events: 1}
	syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&readable)), 1, 0, 0, 0, 0)
}

// send sends an answer of this kind.
func (f *frames) send(kind byte, items []byte) error {
	if f.mapped && f.memory.answer(kind, items) {
		return nil
	}
	answer := append(headOf(kind, items), items...)
	for len(answer) > 0 {
		sent, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, descriptor, uintptr(unsafe.Pointer(&answer[0])), uintptr(len(answer)))
		switch errno {
		case 0:
			answer = answer[sent:]
		case syscall.EINTR:
		default:
			return errno
		}
	}
	return nil
}

// headOf is what comes before the items of an answer.
func headOf(kind byte, items []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(make([]byte, 0, headSize), uint32(len(items)+1)), kind)
}
