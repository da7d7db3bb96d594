package main

import (
	"container/heap"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// epoch is what the clock shows when a run begins: netstack takes the time zero for "never".
const epoch = time.Hour

// virtualClock stands still until it is set, but for a nanosecond whenever it is read: on a real one no two packets are
// sent at the same time, and RACK in netstack takes for lost what was sent at the same time as the last one that arrived,
// and after it. Its timers run where fire is called, one after the other.
type virtualClock struct {
	now    time.Duration
	timers timerHeap
	made   uint64
}

// virtualTimer is a timer of a virtualClock; place is its index in the heap, or -1.
type virtualTimer struct {
	clock *virtualClock
	due   time.Duration
	// order breaks ties: the timer that was set first runs first.
	order uint64
	place int
	run   func()
}

// Now implements tcpip.Clock.
func (c *virtualClock) Now() time.Time {
	return time.Unix(0, int64(c.now))
}

// set moves it on to a time, counted from the epoch.
func (c *virtualClock) set(time time.Duration) {
	c.now = max(c.now, epoch+time)
}

// NowMonotonic implements tcpip.Clock.
func (c *virtualClock) NowMonotonic() tcpip.MonotonicTime {
	c.now++
	return tcpip.MonotonicTime{}.Add(c.now)
}

// AfterFunc implements tcpip.Clock.
func (c *virtualClock) AfterFunc(d time.Duration, f func()) tcpip.Timer {
	t := &virtualTimer{clock: c, place: -1, run: f}
	t.Reset(d)
	return t
}

// next is when a timer is due, counted from the epoch; false if none is set.
func (c *virtualClock) next() (time.Duration, bool) {
	if len(c.timers) == 0 {
		return 0, false
	}
	return c.timers[0].due - epoch, true
}

// fire runs the first timer that is due; false if none is.
func (c *virtualClock) fire() bool {
	if len(c.timers) == 0 || c.timers[0].due > c.now {
		return false
	}
	heap.Pop(&c.timers).(*virtualTimer).run()
	return true
}

// Stop implements tcpip.Timer.
func (t *virtualTimer) Stop() bool {
	if t.place < 0 {
		return false
	}
	heap.Remove(&t.clock.timers, t.place)
	return true
}

// Reset implements tcpip.Timer.
func (t *virtualTimer) Reset(d time.Duration) {
	t.Stop()
	t.clock.made++
	t.due, t.order = t.clock.now+max(d, 0), t.clock.made
	heap.Push(&t.clock.timers, t)
}

type timerHeap []*virtualTimer

func (h timerHeap) Len() int { return len(h) }

func (h timerHeap) Less(i, j int) bool {
	return h[i].due < h[j].due || h[i].due == h[j].due && h[i].order < h[j].order
}

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *timerHeap) Push(x any) {
	t := x.(*virtualTimer)
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
