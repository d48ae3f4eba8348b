import { LockConfigError } from '../../errors/index.js';
import type { ListReply, ListRequest } from '../key-list.js';
import type { QuorumMember } from '../quorum-member.js';
import { gather, refuseMinority, valuesOf } from './gather.js';
import type { QuorumContext } from './quorum-context.js';
import { Round } from './round.js';

/** The cursor of each master; `null`: it has listed all its keys. */
type Cursors = ReadonlyArray<string | null>;

/**
 * Lists the keys that any master knows. Each master continues from its own cursor. A master that fails is not asked
 * again in this round: another one also knows each key that a majority holds.
 * @throws LockStoreError if no majority answers
 */
export async function listKeys(masters: QuorumContext, { cursor, budget }: ListRequest): Promise<ListReply> {
  const { members, quorum } = masters;
  const cursors = cursor === '' ? members.map(() => '') : (JSON.parse(cursor) as Cursors);
  const round = new Round();
  const asks = members.map(async (member, i): Promise<ListReply | undefined> => {
    const place = cursors[i] ?? null;
    return place === null ? undefined : round.ask(member, (store) => listOne(store, { cursor: place, budget }));
  });
  const answers = await gather(asks, masters, (all, last) => {
    refuseMinority(all, quorum);
    return last ? [...all] : undefined;
  });
  const parts = valuesOf(answers).filter((part) => part !== undefined);
  const next = answers.map((answer) =>
    answer !== undefined && 'value' in answer ? (answer.value?.cursor ?? null) : null,
  );
  return {
    keys: [...new Set(parts.flatMap(({ keys }) => keys))],
    cursor: next.every((each) => each === null) ? undefined : JSON.stringify(next),
    time: parts[0]?.time ?? Date.now(),
  };
}

async function listOne(store: QuorumMember, request: ListRequest): Promise<ListReply> {
  if (store.list === undefined) throw new LockConfigError('one of the masters cannot list its keys');
  return store.list(request);
}
