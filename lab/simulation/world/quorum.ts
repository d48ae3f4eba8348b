import type { RenewReply, RenewRequest } from '../../../lib/store/lock-store.js';
import type { Acquisition } from '../../../lib/store/quorum/acquisition.js';
import type { Member } from '../../../lib/store/quorum/membership.js';
import { QuorumStore, type QuorumStoreOptions } from '../../../lib/store/quorum/quorum-store.js';
import type { Server } from './server.js';
import type { StoreLine } from './store-line.js';

/** A life of a server. */
export interface ServerLife {
  readonly server: Server;
  readonly life: number;
}

/** The library's store over several masters, and the votes that its answers rest on. */
export class SimulatedQuorum extends QuorumStore {
  /** A majority has replied to a request about a grant; these lives of the masters were known when it was sent. */
  onAnswer: (id: string, known: readonly ServerLife[]) => void = () => undefined;
  private readonly connections: readonly StoreLine[];

  constructor(options: QuorumStoreOptions & { readonly connections: readonly StoreLine[] }) {
    super(options);
    this.connections = options.connections;
  }

  get members(): readonly Member[] {
    return this.context.members;
  }

  /** Which lives of the masters the process knows of. */
  get known(): ServerLife[] {
    return this.connections.map(({ server, knownLife: life }) => ({ server, life }));
  }

  /** How many acquisitions it remembers; if some are never released, without the acquisitions whose leases are over. */
  remembered(someForget: boolean): number {
    const acquisitions = Reflect.get(this, 'acquisitions') as ReadonlyMap<string, Acquisition>;
    const now = this.context.clock.now();
    const isKept = ({ votes: { majority } }: Acquisition): boolean =>
      !someForget || majority === undefined || majority.until > now;
    return [...acquisitions.values()].filter(isKept).length;
  }

  override async renew(requests: readonly RenewRequest[]): Promise<RenewReply[]> {
    const { known } = this;
    const replies = await super.renew(requests);
    requests.forEach(({ id }, i) => {
      if (typeof replies[i] === 'number') this.onAnswer(id, known);
    });
    return replies;
  }
}
