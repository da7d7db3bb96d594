// Package bubble serves stacks that read Go's own clock, and whose goroutines live on between calls: code that is written for
// sockets. They run in a bubble of testing/synctest, whose time is that of the run: it goes on while every goroutine waits, and
// only as far as the call that is answered. Random bytes of crypto come from the run's seed, and
// so does what the runtime draws for itself.
//
// The standard library does not tell when a bubble's next timer is due, and opens bubbles for tests alone: the files of
// _goroot add that, by the overlay with which `rexmit stack build` builds.
package bubble

import (
	"os"
	"runtime"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	rs "github.com/rexmit/rexmit/go/rexmitstack"
)

// End is an end whose methods are called in the bubble at the run's time. Settled is called once every goroutine has come to
// rest: it says what has come of the call, and is true if it has made goroutines act again.
type End interface {
	Connect()
	Packet(data []byte)
	Write(data []byte, how rs.How) int
	Read(most int) *rs.Data
	Close()
	Abort()
	Settled() bool
}

// Stack is a stack of such ends.
type Stack struct {
	Name, Build, Protocols string
	// Datagrams says that it knows those of QUIC.
	Datagrams bool
	Make      func(run *rs.Run, opening rs.Opening, line *rs.Line) End
	// Over is called when a run is over, and ends what its ends have left.
	Over func()
}

// Serve answers rexmit until it is gone.
func Serve(stack Stack) (err error) {
	// With one processor goroutines take turns in the same order each time.
	runtime.GOMAXPROCS(1)
	synctest.Run(func() {
		// A run begins at a whole second, so that no fraction of the clock differs.
		begin := time.Now()
		var now *drawn
		make := func(run *rs.Run, opening rs.Opening, line *rs.Line) rs.End {
			if now == nil || now.run != run {
				now = &drawn{run, run.Random.Uint64()}
				cryptotest.Seed(run.Random)
			}
			now.next()
			return &end{stack.Make(run, opening, line), line, begin, now}
		}
		over := func() {
			stack.Over()
			synctest.Wait()
			begin = time.Now().Truncate(time.Second).Add(time.Second)
			time.Sleep(time.Until(begin))
			synctest.Wait()
		}
		served := rs.Stack{
			Name: stack.Name, Build: stack.Build, Protocols: stack.Protocols, Forgets: true, Datagrams: stack.Datagrams,
			Make: make, Over: over,
		}
		if err = rs.Serve(served); err == nil {
			// What the bubble still holds ends with the program.
			os.Exit(0)
		}
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	})
	return err
}

// drawn is where the runtime's own draws of a run come from: a number for each call, whichever thread serves it.
type drawn struct {
	run  *rs.Run
	seed uint64
}

func (d *drawn) next() {
	d.seed += 0x9e3779b97f4a7c15
	runtime.SynctestSeed(d.seed)
}

type end struct {
	End
	line  *rs.Line
	begin time.Time
	drawn *drawn
}

// at lets time pass until a call, acts, and says what has come of it.
func (e *end) at(now uint64, act func()) {
	e.drawn.next()
	time.Sleep(time.Until(e.begin.Add(time.Duration(now))))
	synctest.Wait()
	act()
	synctest.Wait()
	for e.Settled() {
		synctest.Wait()
	}
	if next := runtime.SynctestNextTimer(); next != 0 {
		e.line.SetTimer(max(now, uint64(next-e.begin.UnixNano())))
	} else {
		e.line.StopTimer()
	}
}

func (e *end) Connect(now uint64)             { e.at(now, e.End.Connect) }
func (e *end) Packet(now uint64, data []byte) { e.at(now, func() { e.End.Packet(data) }) }
func (e *end) Timer(now uint64)               { e.at(now, func() {}) }
func (e *end) Close(now uint64)               { e.at(now, e.End.Close) }
func (e *end) Abort(now uint64)               { e.at(now, e.End.Abort) }

func (e *end) Write(now uint64, data []byte, how rs.How) (taken int) {
	e.at(now, func() { taken = e.End.Write(data, how) })
	return taken
}

func (e *end) Read(now uint64, most int) (data *rs.Data) {
	e.at(now, func() { data = e.End.Read(most) })
	return data
}
