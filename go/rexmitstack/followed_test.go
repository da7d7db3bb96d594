package rexmitstack

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// scripted is an end that has bytes to read, or room for a write, after each packet, and says more if it is told to.
type scripted struct {
	*Line
	left  int
	event []Event
	ends  bool
	wrote []byte
}

func (s *scripted) Connect(uint64) {}
func (s *scripted) Packet(uint64, []byte) {
	s.SetReadable(s.left)
	for _, event := range s.event {
		s.Tell(event)
	}
}
func (s *scripted) Timer(uint64) {}
func (s *scripted) Write(_ uint64, data []byte, _ How) int {
	s.wrote = data
	return len(data)
}
func (s *scripted) Read(uint64, int) *Data {
	s.left--
	s.SetReadable(s.left)
	return &Data{Place: Follows, Bytes: []byte{byte(s.left)}, Ends: s.ends}
}
func (s *scripted) Close(uint64) {}
func (s *scripted) Abort(uint64) {}

// followed are the calls that are answered behind a packet.
func followed(t *testing.T, s *scripted, most uint32, write []byte) (calls []byte) {
	t.Helper()
	s.Line = &Line{}
	le := binary.LittleEndian
	body := le.AppendUint32(le.AppendUint32([]byte{4}, most), 3)
	body = append(append(body, "abc"...), write...)
	if err := (opened{s, s.Line}).called(11, 0, body); err != nil {
		t.Fatal(err)
	}
	for items := s.items; len(items) > 0; items = items[5+le.Uint32(items[1:]):] {
		if items[0] == 11 {
			calls = append(calls, items[5])
		}
	}
	return calls
}

func TestACallIsFollowedByWhatItsOneEventAsksFor(t *testing.T) {
	write := append(make([]byte, 23), "data"...)
	readable, writable := []Event{Readable}, []Event{Writable}
	for _, one := range []struct {
		end   scripted
		most  uint32
		write []byte
		calls []byte
	}{
		{scripted{left: 3, event: readable}, 9, write, []byte{7, 7, 7}},
		{scripted{left: 3, event: readable, ends: true}, 9, nil, []byte{7}},
		{scripted{left: 3, event: readable}, 0, nil, nil},
		{scripted{left: 0, event: readable}, 9, nil, nil},
		{scripted{event: writable}, 9, write, []byte{6}},
		{scripted{event: writable}, 9, nil, nil},
		{scripted{left: 3}, 9, write, nil},
		{scripted{left: 3, event: []Event{Readable, Writable}}, 9, write, nil},
		{scripted{left: 3, event: []Event{EndOfStream}}, 9, write, nil},
	} {
		if calls := followed(t, &one.end, one.most, one.write); !bytes.Equal(calls, one.calls) {
			t.Errorf("%+v: calls %v instead of %v", one.end, calls, one.calls)
		}
	}
	s := scripted{event: writable}
	followed(t, &s, 0, write)
	if string(s.wrote) != "data" {
		t.Errorf("%q was written", s.wrote)
	}
}

func TestWhatIsSaidInACallOfAnotherEndIsInTheNextAnswer(t *testing.T) {
	var lines []*Line
	make := func(_ *Run, _ Opening, line *Line) End {
		lines = append(lines, line)
		return &scripted{Line: line, left: 2, event: []Event{Readable}}
	}
	s := server{stack: Stack{Make: make}, ends: map[uint32]opened{}}
	ask := func(kind byte, end uint32, body []byte) []byte {
		t.Helper()
		items, err := s.answer(kind, append(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, 0), end), body...))
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Clone(items)
	}
	for end := uint32(0); end < 2; end++ {
		ask(2, end, []byte{0, 1, 0, 4, 10, 0, 0, 1, 1, 0, 10, 0, 0, 2, 1, 0})
	}
	lines[0].Tell(Writable)
	ask(4, 1, nil)
	le := binary.LittleEndian
	items := ask(11, 0, le.AppendUint32(le.AppendUint32([]byte{4}, 9), 0))
	if !bytes.HasPrefix(items, []byte{4, 1, 0, 0, 0, byte(Writable)}) {
		t.Errorf("%v: an event is gone", items)
	}
	if bytes.Contains(items, []byte{11, 1, 0, 0, 0, 7}) {
		t.Errorf("%v: a read follows two events", items)
	}
	if items := ask(4, 0, nil); bytes.Count(items, []byte{4, 1, 0, 0, 0}) != 1 {
		t.Errorf("%v: an event is told twice", items)
	}
}
