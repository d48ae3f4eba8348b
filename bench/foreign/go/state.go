package main

import (
	"math"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The layout of harness/shared-state.mjs.
const (
	phaseAt, insideAt, violationsAt, waitingAt, counterAt, sectionsAt = 0, 1, 2, 3, 4, 5
	stoppedAt, releasedAt                                             = 1, 2
	headBytes                                                         = 64
	firstSlot, stride, slots                                          = 16, 16, 64
	stateBytes                                                        = headBytes + 4*(firstKey+wordsOfKey*keys)
	wordsOfKey, keys                                                  = 2, 10_000
	firstKey                                                          = firstSlot + stride*slots
	single                                                            = -1
	measuring, stopped                                                = 1, 2
)

// sharedState is the state of a measurement, in a file that all processes of the measurement map into their memory.
type sharedState struct {
	memory []byte
	slot   int
}

func openState(path string, slot int) (*sharedState, error) {
	if path == "" {
		return &sharedState{make([]byte, stateBytes), slot}, nil
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	memory, err := unix.Mmap(int(file.Fd()), 0, stateBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return &sharedState{memory, slot}, err
}

func (s *sharedState) close() error {
	// Replies that are still under way may count, so the memory stays mapped until the process ends.
	return nil
}

func (s *sharedState) integer(at int) *int32 {
	return (*int32)(unsafe.Pointer(&s.memory[headBytes+4*at]))
}

func (s *sharedState) time(at int) *uint64 {
	return (*uint64)(unsafe.Pointer(&s.memory[8*at]))
}

func (s *sharedState) isOver() bool {
	return atomic.LoadInt32(s.integer(phaseAt)) == stopped
}

func (s *sharedState) isMeasuring() bool {
	return atomic.LoadInt32(s.integer(phaseAt)) == measuring
}

func (s *sharedState) stopTime() float64 {
	return math.Float64frombits(atomic.LoadUint64(s.time(stoppedAt)))
}

func (s *sharedState) countCommands(n int) {
	atomic.AddInt32(s.integer(firstSlot+s.slot*stride), int32(n))
}

func (s *sharedState) beginWaiting() { atomic.AddInt32(s.integer(waitingAt), 1) }
func (s *sharedState) endWaiting()   { atomic.AddInt32(s.integer(waitingAt), -1) }

// enter is called on the first line of a section and returns the argument of leave. The counter is read here and
// written in leave, without an atomic operation on the whole: if two sections overlap, an update is lost. index is that
// of the key, or single.
func (s *sharedState) enter(index int) int32 {
	inside, counter := s.wordsOf(index)
	if atomic.AddInt32(inside, 1) != 1 {
		atomic.AddInt32(s.integer(violationsAt), 1)
	}
	return atomic.LoadInt32(counter)
}

func (s *sharedState) leave(index int, read int32) {
	inside, counter := s.wordsOf(index)
	atomic.StoreInt32(counter, read+1)
	atomic.AddInt32(s.integer(sectionsAt), 1)
	atomic.AddInt32(inside, -1)
}

// wordsOf returns how much of a key is taken, and its counter.
func (s *sharedState) wordsOf(index int) (inside, counter *int32) {
	if index == single {
		return s.integer(insideAt), s.integer(counterAt)
	}
	first := firstKey + index*wordsOfKey
	return s.integer(first), s.integer(first + 1)
}

// noteRelease is called right before a release is sent.
func (s *sharedState) noteRelease() {
	at := math.NaN()
	if atomic.LoadInt32(s.integer(waitingAt)) > 0 {
		at = now()
	}
	atomic.StoreUint64(s.time(releasedAt), math.Float64bits(at))
}

// sinceRelease is the time in ms since a release was sent while another caller waited, else NaN.
func (s *sharedState) sinceRelease() float64 {
	return now() - math.Float64frombits(atomic.LoadUint64(s.time(releasedAt)))
}

var began, beganAt = time.Now(), monotonic()

// now is the time in ms of the system's monotonic clock, which is the same in all processes.
func now() float64 {
	return beganAt + float64(time.Since(began))/1e6
}

func monotonic() float64 {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &at); err != nil {
		panic(err)
	}
	return float64(at.Nano()) / 1e6
}
