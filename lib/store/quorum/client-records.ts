import type { ClientRecord, ClientRecordStore } from '../client-records.js';
import type { QuorumMember } from '../quorum-member.js';
import type { Member } from './membership.js';

/** Keeps the record of a client on each master. One master that has it is enough: it only serves people. */
export class QuorumClientRecords implements ClientRecordStore {
  constructor(private readonly members: readonly Member[]) {}

  /** @throws AggregateError if no master takes it */
  async write(record: ClientRecord, lifetime: number): Promise<void> {
    await Promise.any(this.ask((store) => store.clients.write(record, lifetime)));
  }

  async read(clientId: string): Promise<ClientRecord | undefined> {
    const reads = this.ask(async ({ clients }) => (await clients.read(clientId)) ?? Promise.reject(new Error('none')));
    return Promise.any(reads).catch(() => undefined);
  }

  /** A client that no answering master knows receives at most the messages of masters that are away. */
  async connected(clientIds: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
    const asked = this.ask(async ({ clients }) => clients.connected?.(clientIds));
    const answers = (await Promise.all(asked.map((each) => each.catch(() => undefined)))).flatMap((each) => each ?? []);
    const known = clientIds.filter((id) => answers.some((answer) => answer.has(id)));
    return new Map(known.map((id) => [id, answers.some((answer) => answer.get(id) === true)]));
  }

  /** Asks the masters that can be reached. The others would execute it later. */
  private ask<T>(question: (store: QuorumMember) => Promise<T>): Array<Promise<T>> {
    return this.members.flatMap(({ store }) => (store.unreachable === undefined ? [question(store)] : []));
  }
}
