package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

const lease = 30 * time.Second

// lockClient is one client of a library. acquire returns nil if the library gave up because others held the key.
type lockClient interface {
	acquire(key string) (handle, error)
	release(held handle) error
	close()
}

type handle any

func openClient(given terms) (lockClient, error) {
	address := net.JoinHostPort(given["host"], given["port"])
	switch given["kind"] {
	case "redsync":
		return openRedsync(address, given), nil
	case "redislock":
		return openRedislock(address, given), nil
	case "rueidislock":
		return openRueidislock(address, given)
	}
	return nil, fmt.Errorf("the runner has no library %q", given["kind"])
}

// redsyncClient creates a mutex for each acquisition, as its README does: a mutex has one holder.
type redsyncClient struct {
	redis   *redis.Client
	locks   *redsync.Redsync
	options []redsync.Option
}

func openRedsync(address string, given terms) lockClient {
	client := openGoRedis(address)
	options := []redsync.Option{}
	if tries := given["tries"]; tries == "unlimited" {
		options = append(options, redsync.WithTries(math.MaxInt))
	} else if tries != "" {
		options = append(options, redsync.WithTries(given.number("tries")))
	}
	if given["retryDelay"] != "" {
		options = append(options, redsync.WithRetryDelay(given.ms("retryDelay")))
	}
	return &redsyncClient{client, redsync.New(goredis.NewPool(client)), options}
}

func (c *redsyncClient) acquire(key string) (handle, error) {
	mutex := c.locks.NewMutex(key, c.options...)
	err := mutex.Lock()
	if taken := (*redsync.ErrTaken)(nil); errors.As(err, &taken) || err == redsync.ErrFailed {
		return nil, nil
	}
	return mutex, err
}

func (c *redsyncClient) release(held handle) error {
	if ok, err := held.(*redsync.Mutex).Unlock(); err != nil || ok {
		return err
	}
	return errors.New("the lock had been lost")
}

func (c *redsyncClient) close() { _ = c.redis.Close() }

type redislockClient struct {
	redis   *redis.Client
	locks   *redislock.Client
	options func() *redislock.Options
}

func openRedislock(address string, given terms) lockClient {
	client := openGoRedis(address)
	options := func() *redislock.Options {
		if given["retryDelay"] == "" {
			return nil
		}
		strategy := redislock.LinearBackoff(given.ms("retryDelay"))
		if tries := given.number("tries"); tries > 0 {
			// It counts its tries, so each acquisition has its own.
			strategy = redislock.LimitRetry(strategy, tries)
		}
		return &redislock.Options{RetryStrategy: strategy}
	}
	return &redislockClient{client, redislock.New(client), options}
}

func (c *redislockClient) acquire(key string) (handle, error) {
	held, err := c.locks.Obtain(context.Background(), key, lease, c.options())
	if errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, context.DeadlineExceeded) {
		return nil, nil
	}
	return held, err
}

func (c *redislockClient) release(held handle) error {
	return held.(*redislock.Lock).Release(context.Background())
}

func (c *redislockClient) close() { _ = c.redis.Close() }

type rueidislockClient struct {
	locks rueidislock.Locker
	lock  func(context.Context, string) (context.Context, context.CancelFunc, error)
}

func openRueidislock(address string, given terms) (lockClient, error) {
	locks, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: []string{address}},
		KeyMajority:    int32(given.number("keyMajority")),
		NoLoopTracking: given["noLoopTracking"] == "true",
		TryNextAfter:   given.ms("tryNextAfter"),
		ClientBuilder: func(option rueidis.ClientOption) (rueidis.Client, error) {
			client, err := rueidis.NewClient(option)
			return &countedRueidis{client}, err
		},
	})
	if err != nil {
		return nil, err
	}
	if given["tries"] == "1" {
		return &rueidislockClient{locks, locks.TryWithContext}, nil
	}
	return &rueidislockClient{locks, locks.WithContext}, nil
}

func (c *rueidislockClient) acquire(key string) (handle, error) {
	_, cancel, err := c.lock(context.Background(), key)
	if errors.Is(err, rueidislock.ErrNotLocked) {
		return nil, nil
	}
	return cancel, err
}

func (c *rueidislockClient) release(held handle) error {
	held.(context.CancelFunc)()
	return nil
}

func (c *rueidislockClient) close() { c.locks.Close() }

// countedRueidis counts the commands of a client.
type countedRueidis struct{ rueidis.Client }

func (c *countedRueidis) Do(ctx context.Context, command rueidis.Completed) rueidis.RedisResult {
	state.countCommands(1)
	return c.Client.Do(ctx, command)
}

func (c *countedRueidis) DoMulti(ctx context.Context, commands ...rueidis.Completed) []rueidis.RedisResult {
	state.countCommands(len(commands))
	return c.Client.DoMulti(ctx, commands...)
}

func openGoRedis(address string) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: address})
	client.AddHook(counter{})
	return client
}

// counter counts the commands of a client.
type counter struct{}

func (counter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		state.countCommands(1)
		return next(ctx, command)
	}
}

func (counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		state.countCommands(len(commands))
		return next(ctx, commands)
	}
}
