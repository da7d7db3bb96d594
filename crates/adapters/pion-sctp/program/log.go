package main

import (
	"strings"

	"github.com/pion/logging"
	rs "github.com/rexmit/rexmit/go/rexmitstack"
)

// log hears what Pion logs, which alone says why a timer makes it send: Pion exports no counters.
type log struct {
	why rs.Why
}

// reasons are the beginnings of its lines that tell of a timer.
var reasons = map[string]rs.Why{
	"[%s] T3-rtx timed out": rs.Timeout,
	"[%s] PTO fired":        rs.Probe,
	"[%s] RACK timer":       rs.Loss,
}

func (l *log) hears(format string) {
	for begin, why := range reasons {
		if strings.HasPrefix(format, begin) {
			l.why = why
		}
	}
}

// NewLogger implements logging.LoggerFactory.
func (l *log) NewLogger(string) logging.LeveledLogger { return l }

// Trace implements logging.LeveledLogger, and so do the methods that follow.
func (l *log) Trace(string)                   {}
func (l *log) Tracef(format string, _ ...any) { l.hears(format) }
func (l *log) Debug(string)                   {}
func (l *log) Debugf(format string, _ ...any) { l.hears(format) }
func (l *log) Info(string)                    {}
func (l *log) Infof(string, ...any)           {}
func (l *log) Warn(string)                    {}
func (l *log) Warnf(string, ...any)           {}
func (l *log) Error(string)                   {}
func (l *log) Errorf(string, ...any)          {}
