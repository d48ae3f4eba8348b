import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { LockAcquisition } from './acquisition.js';

/** One instance as it is now, when metrics are collected. */
export interface InstanceReading {
  /** The name of the module instance. */
  readonly instance: string;
  readonly reachable: boolean;
  readonly subscribed: boolean;
  /** ms; `undefined`: Redis did not answer. */
  readonly roundTrip: number | undefined;
  /** How often a connection to Redis was lost, or could not be made. */
  readonly disconnects: number;
  /** ms by which the clock of the store is ahead of the clock of this process; `undefined`: not known. */
  readonly clockAhead: number | undefined;
  /** ms by which the most overdue renewal of the last two minutes was late. */
  readonly watchdogLag: number;
  /** The patterns of the elections in which this process stands, once for each candidate. */
  readonly candidates: readonly string[];
  /** The locks that the instance holds, with the ms for which it has held them. */
  readonly holds: ReadonlyArray<Pick<LockAcquisition, 'pattern' | 'kind'> & { readonly age: number }>;
}

/** A request to all instances of this process. Each adds the promise of its reading. */
type ReadingRequest = Array<Promise<InstanceReading>>;

const NAME = 'nestjs-redis-locks:readings';
const readings = channel(NAME);

/** Answers requests for readings, until the returned function is called. Costs nothing without a request. */
export function answerReadings(read: () => Promise<InstanceReading>): () => void {
  const answer = (request: unknown): void => void (request as ReadingRequest).push(read());
  subscribe(NAME, answer);
  return () => void unsubscribe(NAME, answer);
}

/** Asks all instances of this process, from any copy of the package. */
export async function collectReadings(): Promise<InstanceReading[]> {
  const request: ReadingRequest = [];
  readings.publish(request);
  return Promise.all(request);
}
