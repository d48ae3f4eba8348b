import { isLockStoreError, type LockStoreError } from '../../errors/index.js';
import type { RenewReply, RenewRequest } from '../lock-store.js';
import { isAnswer, refusesSeveralSlots, storeFailure } from './store-failure.js';
import type { Connection } from './redis-connection.js';
import { leaseLeft } from './replies.js';
import { tuple } from './reply-readers.js';
import { namedKeys } from './script-call.js';
import type { LuaScript } from './scripts.generated.js';

/** How many leases one command renews: large enough for few commands, small enough not to block the server. */
const RENEWALS_PER_COMMAND = 48;
/** The replies of a Cluster to a command with several keys whose slot is moving to another master. */
const MOVING = /\b(TRYAGAIN|ASK)\b/;

/**
 * Whether the server has refused a command for several leases, but may renew each of them alone. A server that is busy or
 * fails over would refuse each of them, too.
 */
const isRefusedTogether = (reply: RenewReply): boolean =>
  isLockStoreError(reply) && isAnswer(reply.cause) && (!reply.transient || MOVING.test(reply.message));

/**
 * Returns a function that renews leases, as many as possible in one command. In a Cluster, these are the leases of one slot.
 * It resolves to the replies in the order of the requests, and never rejects.
 * @param nameOf names the Redis key that holds a lease
 * @param more arguments that follow those of the leases
 * @param read reads the part of a reply that is about one lease
 */
export function leaseRenewals(
  connection: Connection,
  nameOf: (key: string) => string,
  script: 'renew' | LuaScript = 'renew',
  more: ReadonlyArray<string | number> = [],
  read: (raw: unknown, request: RenewRequest) => RenewReply = leaseLeft,
): (requests: readonly RenewRequest[]) => Promise<RenewReply[]> {
  const renewSome = async (
    requests: readonly RenewRequest[],
    replies: Map<RenewRequest, RenewReply>,
  ): Promise<void> => {
    // An error of a command that many leases share names none of them.
    const states = namedKeys(
      requests.map(({ key }) => nameOf(key)),
      requests.length === 1 ? requests[0]!.key : undefined,
    );
    const args = [...requests.flatMap(({ id, lease }) => [id, lease]), ...more];
    let leases: readonly RenewReply[];
    try {
      leases = await connection.scripts.run(script, states, args, (raw) =>
        // The part about one lease may be an error of its own.
        tuple(raw, requests.length).map((left, i) =>
          left instanceof Error ? storeFailure(left, requests[i]!.key) : read(left, requests[i]!),
        ),
      );
    } catch (error) {
      leases = requests.map(() => error as LockStoreError);
    }
    requests.forEach((request, i) => replies.set(request, leases[i]!));
    if (requests.length === 1) return;
    const refused = requests.filter((_request, i) => isRefusedTogether(leases[i]!));
    if (leases.some((each) => each instanceof Error && refusesSeveralSlots(each))) connection.separateSlots();
    // By slot if that was the reason; otherwise each alone.
    const bySlot = connection.group(refused, nameOf);
    const parts = bySlot.length > 1 ? bySlot : refused.map((each) => [each]);
    await Promise.all(parts.map((part) => renewSome(part, replies)));
  };

  return async (requests) => {
    const replies = new Map<RenewRequest, RenewReply>();
    const commands: Array<Promise<void>> = [];
    for (const group of connection.group(requests, nameOf)) {
      for (let i = 0; i < group.length; i += RENEWALS_PER_COMMAND) {
        commands.push(renewSome(group.slice(i, i + RENEWALS_PER_COMMAND), replies));
      }
    }
    await Promise.all(commands);
    return requests.map((request) => replies.get(request)!);
  };
}
