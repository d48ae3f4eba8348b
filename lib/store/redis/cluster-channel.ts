import { hashSlot } from '../../keys/index.js';
import type { Listening, ShardSubscriber } from './shard-subscriber.js';
import type { Subscription } from './subscription.js';

/** A channel to which the client subscribes in a Cluster. */
export interface Channel {
  readonly name: string;
  /** Its slot; `undefined` for a channel on the cluster bus, which every node carries. */
  readonly slot: number | undefined;
  /** Until when the channel is needed, by `performance.now()`. */
  until: number;
  line: ShardSubscriber | undefined;
  /**
   * How the client is subscribed. Set when the server has confirmed the subscription, cleared when the connection ends or
   * the slot moves.
   */
  listening: Listening | undefined;
  /** The same subscription, if the server sees the subscribers of this channel. */
  subscription: Subscription | undefined;
  wasHeard: boolean;
  attempts: number;
  /** A caller has waited for the subscription without success. */
  isLate: boolean;
  /** Callers that wait for the subscription. */
  readonly waiting: Set<(isHeard: boolean) => void>;
}

export const newChannel = (name: string, inSlot: boolean, until: number): Channel => ({
  name,
  slot: inSlot ? hashSlot(name) : undefined,
  until,
  line: undefined,
  listening: undefined,
  subscription: undefined,
  wasHeard: false,
  attempts: 0,
  isLate: false,
  waiting: new Set(),
});

/** Resolves to the first answer, or to `false` after `limit` ms. */
export function within(waiting: Set<(answer: boolean) => void>, limit: number): Promise<boolean> {
  return new Promise((resolve) => {
    const answer = (isSo: boolean): void => {
      clearTimeout(timer);
      waiting.delete(answer);
      resolve(isSo);
    };
    const timer = setTimeout(() => answer(false), limit).unref();
    waiting.add(answer);
  });
}
