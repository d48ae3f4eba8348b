import type { AcquireReply, AcquireRequest, HoldName, ReleaseReply, ReleaseRequest } from '../lock-store.js';
import type { Connection } from './connection.js';
import { address, readAcquireReply, readReleaseReply, writeMode, type AcquireAnswer } from './replies.js';
import type { LockKeys } from './script-keys.js';
import type { ScriptRunner } from './script-runner.js';
import { SubscriptionEvidence } from './subscription-evidence.js';

/** How many holds one command ends at most, so that it does not block the server. */
const HOLDS_PER_COMMAND = 500;

/** The scripts that publish messages and therefore take an address. */
type ScriptWithAddress =
  'acquire' | 'adopt' | 'release' | 'offer' | 'extend' | 'forceRelease' | 'setLimit' | 'addLimit' | 'keepUnits';

/**
 * Sends the scripts that grant locks. A script looks at a part of a long queue only, so further commands may have to
 * continue from there.
 */
export class LockCommands {
  readonly evidence = new SubscriptionEvidence();

  constructor(
    private readonly clientId: string,
    private readonly scripts: ScriptRunner,
    private readonly connection: Connection,
    private readonly keys: LockKeys,
  ) {}

  /**
   * Sends a request, and repeats it until the scripts have looked at the whole queue. `place`: where to begin in the
   * queue.
   */
  acquire(request: AcquireRequest, place = 0): Promise<AcquireReply> {
    const weigh = this.weighing(request);
    return this.run('acquire', request.key, requestArgs(request, place)).then((raw) => {
      const answer = readAcquireReply(raw as readonly unknown[]);
      weigh?.(answer);
      const { reply, more } = answer;
      return more === undefined ? reply : this.acquire(request, more);
    });
  }

  /** Takes over the hold that was offered under the id `offer`. */
  async adopt({ key, id, lease }: AcquireRequest, offer: string): Promise<AcquireReply> {
    return readAcquireReply((await this.run('adopt', key, [offer, id, lease])) as readonly unknown[]).reply;
  }

  /** Releases a hold or gives up a place, and sends the next request in the same step. */
  release({ key, id, tombstoneFor, keep, next }: ReleaseRequest): Promise<ReleaseReply> {
    const what = [id, `${tombstoneFor} ${keep} 0`];
    const args = next === undefined ? what : [...what, ...requestArgs(next)];
    const weigh = next && this.weighing(next);
    return this.run('release', key, args).then((raw) => {
      const { reply, more, asked } = readReleaseReply(raw);
      if (asked !== undefined) weigh?.(asked);
      if (more !== undefined) return this.grantRemaining(key, more, id).then(() => reply);
      if (next === undefined || asked?.more === undefined) return reply;
      return this.acquire(next, asked.more).then((answer) => ({ ...reply, next: answer }));
    });
  }

  /**
   * Grants to the waiters that a script did not reach, by a release that has nothing to release. `place`: where to
   * continue; negative if the script has looked at all tickets.
   */
  async grantRemaining(key: string, place: number, id = `${this.clientId}:0`): Promise<void> {
    for (let from: number | undefined = place; from !== undefined && from >= 0;) {
      from = readReleaseReply(await this.run('release', key, [id, `0 0 ${from}`])).more;
    }
  }

  /** Ends the named holds; `told`: how many of their clients received the message. */
  async endHolds(key: string, holds: readonly HoldName[], memory: number): Promise<{ ended: number; told: number }> {
    let ended = 0;
    let told = 0;
    let place = 0;
    // At least once: if the key has no holds, there may still be waiters.
    do {
      const named = holds.slice(place, (place += HOLDS_PER_COMMAND));
      const args = [memory, ...named.flatMap(({ id, since }) => [id, since])];
      const [count, heard, more] = ((await this.run('forceRelease', key, args)) as number[]).map(Number);
      ended += count!;
      told += heard!;
      await this.grantRemaining(key, more!);
    } while (place < holds.length);
    return { ended, told };
  }

  run(script: ScriptWithAddress, key: string, args: ReadonlyArray<string | number>): Promise<unknown> {
    return this.scripts.run(script, this.keys.of(key), [address(this.connection.channels(key), key), ...args]);
  }

  /** Records what is known when a request is sent, to check its reply: whether the client receives its messages. */
  private weighing({ key, id, lease, waits }: AcquireRequest): ((answer: AcquireAnswer) => void) | undefined {
    const subscription = waits ? this.connection.subscription(key) : undefined;
    if (subscription === undefined) return undefined;
    const sent = performance.now();
    return ({ sign, reply }) => {
      if (sign === undefined) return;
      const leaseLeft = reply.outcome === 'held' ? reply.lease : undefined;
      this.evidence.weigh(sign, { id, lease, sent, subscription }, leaseLeft);
    };
  }
}

/** The arguments, in the order of lua/shared/request.lua. */
export function requestArgs(request: AcquireRequest, from = 0): Array<string | number> {
  const { id, mode, owner, lease, fair, waits, period, patience, grantTimeout, age } = request;
  const batchSize = fair ? 0 : request.batchSize;
  const backedOff = request.backedOff === true ? ' backed-off' : '';
  const rest = `${from} ${waits ? 1 : 0} ${period} ${patience} ${grantTimeout} ${batchSize} ${age ?? ''}${backedOff}`;
  return [id, writeMode(mode), owner ?? '', lease, fair ? 0 : request.uncontendedBatchSize, rest];
}
