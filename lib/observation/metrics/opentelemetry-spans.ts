import { messageOf } from '../../common/describe.js';
import type { LockAcquisition } from '../diagnostics/index.js';
import { isLockTimeoutError, type LockTimeoutError } from '../../errors/index.js';
import { holdIdOf, holdIdsOf, labelsOf, outcomeOf } from './measure-locks.js';
import { Options, or, read } from '../../options/option-readers.js';
import { listenToLocks } from './listen.js';

/** The methods of a tracer that are used: `Tracer` of `@opentelemetry/api` has them. */
export interface LockTracer {
  startSpan(name: string, options?: { attributes?: Record<string, string | string[]> }): LockSpan;
}

/** The methods of a span that are used. */
export interface LockSpan {
  setAttribute(name: string, value: string): unknown;
  addEvent?(name: string, attributes?: Record<string, string>): unknown;
  /** 2 is an error. */
  setStatus(status: { code: 2; message?: string }): unknown;
  end(): void;
}

/** The options of `openTelemetrySpans`. */
export interface LockSpanOptions {
  /**
   * Whether spans carry the keys (`lock.keys`). Write `false` if keys contain personal data.
   * @defaultValue true
   */
  keys?: boolean | undefined;
}

const OPTIONS = new Options({ keys: or(read.flag, true) });

/** The label of the client that held the lock before. */
const PREVIOUS = 'lock.previous_holder';

/** OpenTelemetry's SpanStatusCode.ERROR. */
const ERROR = 2;

/**
 * Creates spans for all locks of this process, until the returned function is called: `lock acquire` while a call acquires a
 * lock, and `lock hold` while the lock is held. Both are children of the caller's span.
 *
 * ```ts
 * const stop = openTelemetrySpans(trace.getTracer('nestjs-redis-locks')); // trace: from OpenTelemetry's API
 * ```
 * @throws LockConfigError for an option that cannot be used
 */
export function openTelemetrySpans(tracer: LockTracer, options: LockSpanOptions = {}): () => void {
  const { keys } = OPTIONS.read('openTelemetrySpans', options);
  read.withMethods(['startSpan'], 'trace.getTracer(…)')('the tracer of openTelemetrySpans', tracer);
  const acquiring = new WeakMap<LockAcquisition, LockSpan>();
  const holding = new Map<string, LockSpan>();
  /** The holders that acquisitions have waited for, by the ids of their holds. */
  const previous = new Map<string, string>();

  const start = (name: string, acquisition: LockAcquisition): LockSpan =>
    tracer.startSpan(name, {
      attributes: {
        ...labelsOf(acquisition),
        ...(acquisition.method === undefined ? {} : { 'lock.method': acquisition.method }),
        ...(keys ? { 'lock.keys': [...acquisition.keys] } : {}),
      },
    });
  const endHold = (id: string, outcome: string, reason?: string): void => {
    const span = holding.get(id);
    previous.delete(id);
    if (span === undefined) return;
    holding.delete(id);
    if (reason !== undefined) {
      span.addEvent?.(`lock ${outcome}`, { 'lock.reason': reason });
      span.setStatus({ code: ERROR, message: reason });
    }
    end(span, outcome);
  };
  /** Notes on the spans of a hold which client held the lock before. */
  const handedOff = (id: string, acquired: LockSpan, hold: LockSpan): void => {
    const holder = previous.get(id);
    if (holder === undefined) return;
    previous.delete(id);
    acquired.addEvent?.('lock handed off', { [PREVIOUS]: holder });
    for (const span of [acquired, hold]) span.setAttribute(PREVIOUS, holder);
  };

  const stop = listenToLocks({
    asked: (acquisition) => void acquiring.set(acquisition, start('lock acquire', acquisition)),
    answered(acquisition) {
      const span = acquiring.get(acquisition);
      if (span === undefined) return;
      const outcome = outcomeOf(acquisition);
      // A timeout or a skip does not make the span an error. A caller that treats it as an error has its own span.
      if (isLockTimeoutError(acquisition.error)) nameHolder(span, acquisition.error);
      if (outcome === 'failed') span.setStatus({ code: ERROR, message: messageOf(acquisition.error) });
      const { result } = acquisition;
      // A hold that is already lost has had its last event.
      for (const id of result?.isHeld === true ? holdIdsOf(acquisition, result) : []) {
        if (holding.has(id)) continue;
        const hold = start('lock hold', acquisition);
        holding.set(id, hold);
        handedOff(id, span, hold);
      }
      end(span, outcome);
    },
    acquired(event) {
      if (event.previousHolder !== undefined) previous.set(holdIdOf(event), event.previousHolder);
    },
    released: (event) => endHold(holdIdOf(event), event.type),
    unreleased: (event) => endHold(holdIdOf(event), event.type, event.reason),
    lost: (event) => endHold(holdIdOf(event), event.type, event.reason),
  });
  return () => {
    stop();
    for (const span of holding.values()) span.end();
    holding.clear();
    previous.clear();
  };
}

/** Adds the holder to the span of a call that timed out, if the store named it. */
function nameHolder(span: LockSpan, { holder }: LockTimeoutError): void {
  if (holder === undefined) return;
  span.setAttribute('lock.holder', holder.label ?? holder.client);
  span.setAttribute('lock.holder_token', String(holder.fencingToken));
}

function end(span: LockSpan, outcome: string): void {
  span.setAttribute('lock.outcome', outcome);
  span.end();
}
