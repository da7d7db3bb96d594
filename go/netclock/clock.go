// Package netclock is a clock for netstack, the TCP of gVisor, that stands still until it is set: rexmit's stack of gVisor has it, and
// so have the judgements of foreign/.
package netclock

import (
	"container/heap"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// Epoch is what the clock shows when a run begins: netstack takes the time zero for "never".
const Epoch = time.Hour

// Clock stands still until it is set, but for a nanosecond whenever it is read: on a real one no two packets are
// sent at the same time, and RACK in netstack takes for lost what was sent at the same time as the last one that arrived,
// and after it. Its timers run where Fire is called, one after the other.
type Clock struct {
	now    time.Duration
	timers timerHeap
	made   uint64
}

// timer is a timer of a Clock; place is its index in the heap, or -1.
type timer struct {
	clock *Clock
	due   time.Duration
	// order breaks ties: the timer that was set first runs first.
	order uint64
	place int
	run   func()
}

// Now implements tcpip.Clock.
func (c *Clock) Now() time.Time {
	return time.Unix(0, int64(c.now))
}

// Set moves it on to a time, counted from [Epoch].
func (c *Clock) Set(time time.Duration) {
	c.now = max(c.now, Epoch+time)
}

// Shows is what it shows, which is [Epoch] and the time; unlike a reading it does not move it.
func (c *Clock) Shows() time.Duration { return c.now }

// NowMonotonic implements tcpip.Clock.
func (c *Clock) NowMonotonic() tcpip.MonotonicTime {
	c.now++
	return tcpip.MonotonicTime{}.Add(c.now)
}

// AfterFunc implements tcpip.Clock.
func (c *Clock) AfterFunc(d time.Duration, f func()) tcpip.Timer {
	t := &timer{clock: c, place: -1, run: f}
	t.Reset(d)
	return t
}

// Next is when a timer is due, counted from [Epoch]; false if none is set.
func (c *Clock) Next() (time.Duration, bool) {
	if len(c.timers) == 0 {
		return 0, false
	}
	return c.timers[0].due - Epoch, true
}

// Fire runs the first timer that is due; false if none is.
func (c *Clock) Fire() bool {
	if len(c.timers) == 0 || c.timers[0].due > c.now {
		return false
	}
	heap.Pop(&c.timers).(*timer).run()
	return true
}

// Stop implements tcpip.Timer.
func (t *timer) Stop() bool {
	if t.place < 0 {
		return false
	}
	heap.Remove(&t.clock.timers, t.place)
	return true
}

// Reset implements tcpip.Timer.
func (t *timer) Reset(d time.Duration) {
	t.Stop()
	t.clock.made++
	t.due, t.order = t.clock.now+max(d, 0), t.clock.made
	heap.Push(&t.clock.timers, t)
}

type timerHeap []*timer

func (h timerHeap) Len() int { return len(h) }

func (h timerHeap) Less(i, j int) bool {
	return h[i].due < h[j].due || h[i].due == h[j].due && h[i].order < h[j].order
}

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	t.place = len(*h)
	*h = append(*h, t)
}

func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	t.place = -1
	*h = (*h)[:last]
	return t
}
