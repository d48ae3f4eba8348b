package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"
)

// One section in this many lasts a little longer, so that other callers could overlap if the lock were broken.
const longer = 8

// The work of a process until the measurement ends, as in harness/loops.mjs.
var loops = map[string]func(lockClient, *sharedState, terms) (any, error){
	"contend": contend,
	"cycle":   cycle,
}

type contention struct {
	Sections []int64    `json:"sections"`
	Waits    *histogram `json:"waits"`
	Gaps     *histogram `json:"gaps"`
	GaveUp   int64      `json:"gaveUp"`
	Unserved int64      `json:"unserved"`
}

// contend runs the callers of this process, which compete with all others for one key, or each time for one of many.
func contend(client lockClient, state *sharedState, given terms) (any, error) {
	parts := make([]*contention, given.number("waiters"))
	var count atomic.Int64
	err := inParallel(len(parts), func(i int) error {
		parts[i] = &contention{Sections: []int64{0}, Waits: newHistogram(), Gaps: newHistogram()}
		for !state.isOver() {
			if served, err := parts[i].turn(client, state, given, &count); err != nil || !served {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := &contention{Waits: newHistogram(), Gaps: newHistogram()}
	for _, part := range parts {
		all.Sections = append(all.Sections, part.Sections[0])
		all.Waits.merge(part.Waits)
		all.Gaps.merge(part.Gaps)
		all.GaveUp += part.GaveUp
		all.Unserved += part.Unserved
	}
	return all, nil
}

// anyKey returns the name and the index of the only key, or of one of many at random.
func (t terms) anyKey() (string, int) {
	if count := t.number("keys"); count > 0 {
		index := rand.IntN(count)
		return fmt.Sprintf("%s:%d", t["key"], index), index
	}
	return t["key"], single
}

// turn waits for the key once and runs a section. It returns false if the measurement ended before the key was free.
func (c *contention) turn(client lockClient, state *sharedState, given terms, count *atomic.Int64) (bool, error) {
	key, index := given.anyKey()
	asked := now()
	state.beginWaiting()
	held, err := client.acquire(key)
	for err == nil && held == nil && !state.isOver() {
		// A caller that timed out requests the lock again. Its wait counts from the first request.
		if state.isMeasuring() {
			c.GaveUp++
		}
		held, err = client.acquire(key)
	}
	gap := state.sinceRelease()
	if index != single {
		gap = math.NaN()
	}
	state.endWaiting()
	if err != nil {
		return false, err
	}
	if held == nil {
		c.record(state, asked, gap)
		return false, nil
	}
	counter := state.enter(index)
	c.record(state, asked, gap)
	if section := given.ms("sectionMs"); section > 0 {
		time.Sleep(section)
	} else if count.Add(1)%longer == 0 {
		runtime.Gosched()
	}
	state.leave(index, counter)
	state.noteRelease()
	if err := client.release(held); err != nil {
		return false, err
	}
	if pause := given.ms("pauseMs"); pause > 0 && !state.isOver() {
		time.Sleep(pause)
	}
	return true, nil
}

func (c *contention) record(state *sharedState, asked, gap float64) {
	if state.isMeasuring() {
		c.Waits.add(now() - asked)
		c.Sections[0]++
		if gap >= 0 {
			c.Gaps.add(gap)
		}
	} else if state.isOver() && asked < state.stopTime() {
		// The caller was served only because the others have stopped.
		c.Waits.add(state.stopTime() - asked)
		c.Unserved++
	}
}

// cycle runs callers that acquire and release uncontended keys.
func cycle(client lockClient, state *sharedState, given terms) (any, error) {
	parts := make([]*histogram, given.number("callers"))
	var count atomic.Int64
	err := inParallel(len(parts), func(i int) error {
		parts[i] = newHistogram()
		for !state.isOver() {
			began := now()
			if err := once(client, fmt.Sprintf("fresh:%d:%d", state.slot, count.Add(1))); err != nil {
				return err
			}
			if state.isMeasuring() {
				parts[i].add(now() - began)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := newHistogram()
	for _, part := range parts {
		all.merge(part)
	}
	return map[string]*histogram{"cycles": all}, nil
}

// warm acquires and releases one key for each caller for a time, so that pools, connections and scripts are there.
func warm(client lockClient, slot int, duration time.Duration) error {
	end := time.Now().Add(duration)
	return inParallel(4, func(i int) error {
		for time.Now().Before(end) {
			if err := once(client, fmt.Sprintf("warm:%d:%d", slot, i)); err != nil {
				return err
			}
		}
		return nil
	})
}

func once(client lockClient, key string) error {
	held, err := client.acquire(key)
	if err != nil {
		return err
	}
	if held == nil {
		return errors.New("a fresh key was held")
	}
	return client.release(held)
}

// inParallel returns when all calls have returned, or with the first error.
func inParallel(calls int, call func(i int) error) error {
	done := make(chan error, calls)
	for i := range calls {
		go func() { done <- call(i) }()
	}
	for range calls {
		if err := <-done; err != nil {
			return err
		}
	}
	return nil
}
