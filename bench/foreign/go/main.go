// A process of the benchmark with a lock library for Go, driven over stdin. Each line is `id method words…`, with
// settings as `name=value`; the reply is `id ok value` or `id error text`.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

var (
	output  sync.Mutex
	state   *sharedState
	client  lockClient
	loop    chan outcome
	handles = map[string]handle{}
	guard   sync.Mutex
)

// terms are the named settings of a request.
type terms map[string]string

func (t terms) number(name string) int {
	n, _ := strconv.Atoi(t[name])
	return n
}

func (t terms) ms(name string) time.Duration {
	return time.Duration(t.number(name)) * time.Millisecond
}

type outcome struct {
	result any
	err    error
}

func main() {
	reply("0", runtime.Version(), nil)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Split(lines.Text(), " ")
		go func() {
			result, err := answer(words[1], words[2:])
			reply(words[0], result, err)
		}()
	}
	// The benchmark has ended, or crashed.
}

func answer(method string, words []string) (any, error) {
	given := terms{}
	for _, word := range words {
		if name, value, ok := strings.Cut(word, "="); ok {
			given[name] = value
		}
	}
	switch method {
	case "open":
		var err error
		if state, err = openState(given["state"], given.number("slot")); err != nil {
			return nil, err
		}
		client, err = openClient(given)
		return now(), err
	case "warm":
		return nil, warm(client, state.slot, given.ms("ms"))
	case "begin":
		loop = make(chan outcome, 1)
		go func(done chan outcome) {
			result, err := loops[words[0]](client, state, given)
			done <- outcome{result, err}
		}(loop)
		return nil, nil
	case "finish":
		over := <-loop
		return over.result, over.err
	case "cpu":
		return cpuSeconds(), nil
	case "acquire":
		return acquire(given["key"])
	case "release":
		guard.Lock()
		held := handles[given["handle"]]
		guard.Unlock()
		return nil, client.release(held)
	case "close":
		client.close()
		return nil, state.close()
	}
	return nil, fmt.Errorf("the runner has no method %q", method)
}

// acquire returns the name of a handle, or nothing if the library gave up.
func acquire(key string) (any, error) {
	held, err := client.acquire(key)
	if err != nil || held == nil {
		return nil, err
	}
	guard.Lock()
	defer guard.Unlock()
	name := strconv.Itoa(len(handles) + 1)
	handles[name] = held
	return name, nil
}

func cpuSeconds() float64 {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func reply(id string, result any, err error) {
	line := id + " ok "
	if err != nil {
		line = id + " error " + strings.ReplaceAll(err.Error(), "\n", " ")
	} else if result != nil {
		text, err := json.Marshal(result)
		if err != nil {
			panic(err)
		}
		line += string(text)
	}
	output.Lock()
	defer output.Unlock()
	fmt.Println(line)
}
