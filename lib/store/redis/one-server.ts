import { LockConfigError } from '../../errors/index.js';
import { ONE_SERVER, type Masters } from './connection.js';
import { LastingLine } from './lasting-line.js';
import { isSame, type Line, type Lines } from './line.js';
import { Mastership } from './mastership.js';
import { isOneOfSeveral, isReplica } from './server-identity.js';
import type { MasterFinder, Server, Servers, ServersObserver } from './servers.js';
import { refusesWrites } from './store-failure.js';

/** For how many ms after a question to the Sentinels no further one is asked. */
const SENTINELS_AGAIN = 400;

/** One server. With Sentinels, it is the master that they name each time the client connects. */
export class OneServer implements Servers {
  readonly isCluster = false;
  readonly commands: LastingLine;
  readonly masters: Masters | undefined;
  private server: Server;
  private asked = -Infinity;
  private refreshing: Promise<void> | undefined;
  /** Whether the server was found to serve all keys. */
  private servesAll = false;

  constructor(
    readonly lines: Lines,
    /** What names the master, if there are Sentinels. */
    private readonly sentinels: MasterFinder | undefined,
    private readonly keyPrefix: string,
    private readonly observer: ServersObserver,
  ) {
    if (sentinels !== undefined) sentinels.moved = () => this.leaveOldMaster();
    const catchUp = sentinels?.catchUp;
    if (catchUp !== undefined) this.masters = new Mastership(() => this.isStillMaster(catchUp));
    this.commands = new LastingLine(
      lines,
      {
        ready: () => this.ready(),
        // The calls that a replica refuses say so.
        ended: (error) => observer.unreachable(refusesWrites(error) ? undefined : error),
      },
      {
        resends: true,
        find: sentinels && (() => sentinels.find()),
        admit: sentinels && ((line) => refuseReplica(line, sentinels)),
      },
    );
    this.server = this.current();
  }

  get known(): readonly Server[] {
    return [this.server];
  }

  get isKnown(): boolean {
    return this.commands.isReady;
  }

  open(): void {
    this.commands.open();
  }

  close(): void {
    this.sentinels?.close();
    this.commands.close();
  }

  /** Only Sentinels can name another server. The answer to the PING comes when the connection stands. */
  refresh(): Promise<void> {
    const now = performance.now();
    // Many calls may fail at once, and each of them asks.
    if (this.sentinels !== undefined && now - this.asked >= SENTINELS_AGAIN) {
      this.asked = now;
      // The connection may be older than the Sentinels' last answer, and lead to another server.
      this.sentinels.find().then(
        () => this.leaveOldMaster(),
        () => undefined,
      );
    }
    const over = (): void => void (this.refreshing = undefined);
    return (this.refreshing ??= this.commands.send('PING').then(over, over));
  }

  of(): Server | undefined {
    return this.isKnown ? this.server : undefined;
  }

  hasLeft(_slot: number | undefined, server: Server): boolean {
    return server !== this.server;
  }

  async identify(line: Line): Promise<string> {
    if (!this.servesAll && (await isOneOfSeveral(line, this.keyPrefix))) throw oneOfSeveral(line.peer);
    this.servesAll = true;
    return ONE_SERVER;
  }

  private ready(): void {
    const { at } = this.server;
    // The old master may still run: as a replica, frozen or cut off. Then it has not closed the other connections, which
    // stay silent. Without Sentinels, the same address may lead to another server.
    if (at === undefined || !isSame(at, this.commands.address!)) this.server = this.current();
    this.observer.reached();
  }

  private current(): Server {
    return { address: '', at: this.commands.address, commands: this.commands };
  }

  /** Leaves a server that is not the master, also one to which a connection is being made. */
  private leaveOldMaster(): void {
    if (this.isAtMaster) return;
    this.server = this.current();
    this.observer.unreachable(undefined);
    this.commands.leave();
  }

  private get isAtMaster(): boolean {
    const { address } = this.commands;
    const master = this.sentinels?.master;
    return address === undefined || master === undefined || isSame(address, master);
  }

  /** Whether the Sentinels have announced no other master by now. */
  private async isStillMaster(catchUp: () => Promise<void>): Promise<boolean> {
    const { address } = this.commands;
    await catchUp();
    return this.isAtMaster && address !== undefined && isSame(address, this.commands.address!);
  }
}

async function refuseReplica(line: Line, sentinels: MasterFinder): Promise<void> {
  if (!(await isReplica(line))) return;
  sentinels.mistaken?.();
  throw new Error(`the connection leads to a replica: ${line.peer}`);
}

const oneOfSeveral = (address: string): LockConfigError =>
  new LockConfigError(
    `connection leads to ${address}, which is one node of a Cluster and serves only some of the keys: ` +
      'write connection: { cluster: [{ host, port }] } with one or more of its nodes, or pass a Cluster client.',
  );
