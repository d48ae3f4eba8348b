import type { ClientRecord, ClientRecords } from '../client-records.js';
import type { QuorumMember } from '../quorum-member.js';
import type { Member } from './member.js';

/** Keeps the record of a client on each master. One master that has it is enough: it only serves people. */
export class QuorumClientRecords implements ClientRecords {
  constructor(private readonly masters: () => readonly Member[]) {}

  /** @throws AggregateError if no master takes it */
  async write(record: ClientRecord, lifetime: number): Promise<void> {
    await this.first(async ({ clients }) => clients?.write(record, lifetime));
  }

  async read(clientId: string): Promise<ClientRecord | undefined> {
    const answer = this.first(
      async ({ clients }) => (await clients?.read(clientId)) ?? Promise.reject(new Error('none')),
    );
    return answer.catch(() => undefined);
  }

  /** A client that no answering master knows receives at most the messages of masters that are away. */
  async connected(clientIds: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
    const asked = this.reachable().map(async ({ store }) => store.clients?.connected?.(clientIds) ?? new Map());
    const answers = (await Promise.allSettled(asked)).flatMap((each) =>
      each.status === 'fulfilled' ? [each.value] : [],
    );
    const known = clientIds.filter((id) => answers.some((answer) => answer.has(id)));
    return new Map(known.map((id) => [id, answers.some((answer) => answer.get(id) === true)]));
  }

  /** Asks the masters that can be reached. The others would execute it later. */
  private first<T>(ask: (store: QuorumMember) => Promise<T>): Promise<T> {
    return Promise.any(this.reachable().map(({ store }) => ask(store)));
  }

  private reachable(): readonly Member[] {
    return this.masters().filter(({ store }) => store.unreachable === undefined);
  }
}
