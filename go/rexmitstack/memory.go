package rexmitstack

import (
	"encoding/binary"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const (
	// variable names the file in memory that rexmit offers.
	variable = "REXMIT_MEMORY"
	// Where the number of calls, the number of answers, and the areas for one frame of each are.
	calls, answers, head = 0, 64, 4096
	area                 = 1 << 18
	// Operations of a futex.
	futexWait, futexWake = 0, 1
	// brief is how long rexmit may take for its next call before the scheduler is told that the program waits: longer than a tick
	// of the kernel's, whose timer it would have to set otherwise.
	brief = 20 * time.Millisecond
)

// memory is a line to rexmit through a file in memory, with a futex for calls and one for answers: docs/reference/stack-protocol.md.
type memory struct {
	pages []byte
	// taken is how many calls were taken.
	taken uint32
}

// newMemory is the one that rexmit offers; nil if it does not.
func newMemory() *memory {
	file, err := os.OpenFile(os.Getenv(variable), os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	defer file.Close()
	pages, err := syscall.Mmap(int(file.Fd()), 0, head+2*area, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil
	}
	return &memory{pages: pages}
}

func (m *memory) number(at int) *uint32 { return (*uint32)(unsafe.Pointer(&m.pages[at])) }

// next is the next call; nil: it comes over the socket.
func (m *memory) next() []byte {
	word := m.number(calls)
	for wait := syscall.RawSyscall6; atomic.LoadUint32(word) == m.taken; {
		patience := syscall.NsecToTimespec(int64(brief))
		_, _, errno := wait(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(m.taken), uintptr(unsafe.Pointer(&patience)), 0, 0)
		if errno == syscall.ETIMEDOUT {
			wait = syscall.Syscall6
		}
	}
	m.taken++
	size := binary.LittleEndian.Uint32(m.pages[head:])
	if size == 0 || size > area-4 {
		return nil
	}
	// A stack may keep what it is given.
	return append([]byte(nil), m.pages[head+4:head+4+size]...)
}

// answer gives an answer of this kind; false where it is too long: it is to be sent over the socket now.
func (m *memory) answer(kind byte, items []byte) bool {
	fits := headSize+len(items) <= area
	if !fits {
		copy(m.pages[head+area:], []byte{0, 0, 0, 0})
	} else {
		copy(m.pages[head+area:], headOf(kind, items))
		copy(m.pages[head+area+headSize:], items)
	}
	word := m.number(answers)
	atomic.AddUint32(word, 1)
	syscall.RawSyscall(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, 1)
	return fits
}
