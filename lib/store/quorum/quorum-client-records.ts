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

  /** Asks the masters that can be reached. The others would execute it later. */
  private first<T>(ask: (store: QuorumMember) => Promise<T>): Promise<T> {
    const reachable = this.masters().filter(({ store }) => store.unreachable === undefined);
    return Promise.any(reachable.map(({ store }) => ask(store)));
  }
}
