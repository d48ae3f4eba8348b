import type { Clock } from '../common/clock.js';
import { settledBy } from '../common/settle.js';
import type { TimerQueue } from '../common/timer-queue.js';
import { readAcquisitionId } from '../store/acquisition-id.js';
import type { CallSite, ClientRecord, ClientRecordStore } from '../store/client-records.js';
import type { ClientIdentity } from './client-identity.js';

/** A record that was missing, or lacked a call site, is read again after so many ms. */
const READ_AGAIN = 500;
/** Records of so many clients are remembered. They never change, except that call sites are added. */
const MAX_KNOWN = 2_000;
/** A call waits at most so many ms for the names of clients. Without them it shows their ids. */
const LONGEST_WAIT = 1_000;

/** Whose acquisition it is: what `inspect` says beside its id. */
export interface ClientName {
  /** The id of the client. */
  readonly client: string;
  /** The label of the client; `undefined`: it is not known, for example because the client has never written it. */
  readonly label: string | undefined;
  /** The key template, or the `pattern` of the call. */
  readonly pattern: string | undefined;
  /** The decorated method, `Class.method`. */
  readonly method: string | undefined;
  /** ms of the lease that the watchdog renews without limit; `undefined`: it renews none, or it is not known. */
  readonly renewedLease: number | undefined;
}

/** What the names are found with. */
interface NameSources {
  readonly identity: ClientIdentity;
  readonly records: ClientRecordStore | undefined;
  readonly clock: Clock;
  readonly timers: TimerQueue;
}

interface Known {
  readonly record: ClientRecord | undefined;
  readonly readAt: number;
}

/** Finds the labels and call sites of acquisitions. Each client is asked for once, and this client never. */
export class ClientNames {
  private readonly known = new Map<string, Known>();
  private readonly reading = new Map<string, Promise<unknown>>();

  constructor(private readonly sources: NameSources) {}

  /** Whose acquisition it is, as far as this process knows by now. */
  nameOf(id: string): ClientName {
    const { identity } = this.sources;
    const { client, site: number } = readAcquisitionId(id);
    const isOwn = client === identity.id;
    const record = isOwn ? undefined : this.known.get(client)?.record;
    const label = isOwn ? identity.label : record?.label;
    const site: CallSite | undefined =
      number === undefined ? undefined : isOwn ? identity.site(number) : record?.sites[number];
    return { client, label, pattern: site?.pattern, method: site?.method, renewedLease: site?.renewedLease };
  }

  /** The label of the client of an acquisition, or the id of the client. */
  labelOf(id: string): string {
    const { label, client } = this.nameOf(id);
    return label ?? client;
  }

  /** Reads what is not known about some acquisitions, for at most `limit` ms. Never rejects. */
  async learn(ids: readonly string[], limit = LONGEST_WAIT): Promise<void> {
    const { timers, clock } = this.sources;
    const now = clock.now();
    const unknown = new Set(ids.filter((id) => this.isUnknown(id, now)).map((id) => readAcquisitionId(id).client));
    if (unknown.size === 0) return;
    const records = Promise.all([...unknown].map((client) => this.read(client)));
    await settledBy(timers, { at: now + limit, isReply: true }, records);
  }

  /** Asks which of the clients of some acquisitions are connected now, for at most `limit` ms. Never rejects. */
  async connected(ids: readonly string[], limit = LONGEST_WAIT): Promise<ReadonlyMap<string, boolean>> {
    const { records, timers, clock } = this.sources;
    const clients = [...new Set(ids.map((id) => readAcquisitionId(id).client))].filter((client) => client !== '');
    let known: ReadonlyMap<string, boolean> = new Map();
    if (clients.length === 0 || records?.connected === undefined) return known;
    // Clients of other programs, a missing right, or a server without the command: then it is not known.
    const reply = records.connected(clients).then(
      (told) => void (known = told),
      () => undefined,
    );
    await settledBy(timers, { at: clock.now() + limit, isReply: true }, reply);
    return known;
  }

  private isUnknown(id: string, now: number): boolean {
    const { client, site } = readAcquisitionId(id);
    if (client === this.sources.identity.id || client === '') return false;
    const known = this.known.get(client);
    if (known === undefined) return true;
    const isComplete = known.record !== undefined && (site === undefined || site < known.record.sites.length);
    return !isComplete && now - known.readAt >= READ_AGAIN;
  }

  /** Calls that come together share one request. */
  private read(client: string): Promise<unknown> {
    const underWay = this.reading.get(client);
    if (underWay !== undefined) return underWay;
    const reply = this.ask(client).then((record) => {
      this.reading.delete(client);
      if (this.known.size >= MAX_KNOWN) this.known.clear();
      this.known.set(client, { record, readAt: this.sources.clock.now() });
    });
    this.reading.set(client, reply);
    return reply;
  }

  private async ask(client: string): Promise<ClientRecord | undefined> {
    try {
      return await this.sources.records?.read(client);
    } catch {
      // The id is enough to continue.
      return undefined;
    }
  }
}
