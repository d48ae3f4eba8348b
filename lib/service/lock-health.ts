import type { Duration } from '../common/duration.js';
import { settledBy } from '../common/settle.js';
import type { EngineContext } from '../engine/engine-context.js';
import type { InstanceReading } from '../observation/diagnostics/readings.js';
import type { LockEngine } from '../engine/lock-engine.js';
import { Options, read } from '../options/option-readers.js';

/** The state of one instance, as `LockService.health` returns it. */
export interface LockHealth {
  /** The id of this client, and its `label`. */
  readonly client: string;
  readonly label: string;
  /** Whether Redis has just answered a request; with Redlock, a majority of the masters. */
  readonly reachable: boolean;
  /** Why Redis is not reachable. */
  readonly error: string | undefined;
  /** How long the answer took, in ms; `undefined` without an answer. */
  readonly roundTrip: number | undefined;
  /** Whether the client receives messages. Without them, a call that has to wait gets its lock late or never. */
  readonly subscribed: boolean;
  /** How late the latest renewal is, in ms; 0: all renewals are in time. */
  readonly watchdogLag: number;
  /** How many locks this instance holds. */
  readonly held: number;
}

/** Options of `LockService.health`. */
export interface LockHealthOptions {
  /**
   * How long Redis may take to answer, in milliseconds or `'1s'`.
   * @defaultValue the module's `commandTimeout`
   */
  timeout?: Duration;
}

/**
 * An inspection writes nothing, and takes the same way as a lock. No other application uses this name: Redisson's
 * protocol adds no prefix to it.
 */
const PROBE = 'nestjs-redis-locks:health';

const OPTIONS = new Options({ timeout: read.duration });

/** Asks Redis, and checks the subscription and the holds. */
export async function readLockHealth(
  engine: LockEngine,
  context: EngineContext,
  options: LockHealthOptions = {},
): Promise<LockHealth> {
  const { timeout = context.limits.commandTimeout } = OPTIONS.read('health', options);
  const reply = await probe(engine, context, timeout);
  const holds = engine.grants.all();
  const { id: client, label } = context.identity;
  return {
    ...{ client, label },
    ...reply,
    subscribed: engine.isSubscribed,
    // Not as arguments of `Math.max`: there may be more of them than a call takes.
    watchdogLag: holds.reduce((worst, hold) => Math.max(worst, engine.watchdog.lagOf(hold)), 0),
    held: holds.length,
  };
}

/** How long a collector of metrics waits for Redis, in ms, so that Redis does not delay the other metrics for long. */
const READING_TIMEOUT = 1_000;

/** The state of an instance for metrics. */
export async function readInstance(
  instance: string,
  engine: LockEngine,
  context: EngineContext,
  candidates: readonly string[],
): Promise<InstanceReading> {
  const timeout = Math.min(READING_TIMEOUT, context.limits.commandTimeout);
  const [{ reachable, subscribed, roundTrip, watchdogLag }, clockAhead] = await Promise.all([
    readLockHealth(engine, context, { timeout }),
    readClock(context, timeout),
  ]);
  const now = context.clock.now();
  const holds = engine.grants.all().map(({ terms, acquiredAt }) => ({
    ...{ pattern: terms.pattern, kind: terms.mode.kind, age: now - acquiredAt },
  }));
  const lag = Math.max(watchdogLag, engine.watchdog.worstLag);
  const { epoch: disconnects } = context.store;
  return { instance, reachable, subscribed, roundTrip, disconnects, clockAhead, watchdogLag: lag, candidates, holds };
}

/** By how many ms the wall clock of the store is ahead of that of this process. */
async function readClock({ store, timers, clock }: EngineContext, timeout: number): Promise<number | undefined> {
  const sent = Date.now();
  let ahead: number | undefined;
  const reply = store.time?.().then(
    (time) => void (ahead = time - (sent + Date.now()) / 2),
    () => undefined,
  );
  if (reply !== undefined) await settledBy(timers, { at: clock.now() + timeout }, reply);
  return ahead;
}

async function probe(
  engine: LockEngine,
  { clock, timers, store }: EngineContext,
  timeout: number,
): Promise<Pick<LockHealth, 'reachable' | 'error' | 'roundTrip'>> {
  const since = clock.now();
  const reply = engine.inspect(PROBE);
  try {
    if (!(await settledBy(timers, { at: since + timeout }, reply))) {
      const why = store.outage === undefined ? '' : `: ${store.outage.message}`;
      throw new Error(`Redis did not answer within ${timeout} ms${why}`);
    }
    await reply;
    return { reachable: true, error: undefined, roundTrip: clock.now() - since };
  } catch (error) {
    return { reachable: false, error: (error as Error).message, roundTrip: undefined };
  }
}
