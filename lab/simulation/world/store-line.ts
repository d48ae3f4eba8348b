import { LockStoreError } from '../../../lib/errors/index.js';
import { ONE_SERVER, type ConnectionObserver, type Masters } from '../../../lib/store/redis/connection.js';
import { ConnectionHealth } from '../../../lib/store/redis/connection-health.js';
import type { Commands } from '../../../lib/store/redis/line.js';
import { Mastership, UNDOUBTED } from '../../../lib/store/redis/mastership.js';
import { allArgs, namedKeys } from '../../../lib/store/redis/script-call.js';
import { flag } from '../../../lib/store/redis/reply-readers.js';
import type { Connection } from '../../../lib/store/redis/redis-connection.js';
import { ScriptRunner } from '../../../lib/store/redis/script-runner.js';
import { Doubts, type Subscription } from '../../../lib/store/redis/subscription.js';
import type { Clock } from '../../../lib/common/clock.js';
import type { ReadingClock } from '../../../lib/common/reading-timer.js';
import { replyError } from '../../testbed/proxies/resp-reader.mjs';
import type { Random } from '../schedule/noise.js';
import { TIMES, type Weather } from '../schedule/schedule.js';
import { callOf, grantsOf, type Call } from './call.js';
import { Link } from './link.js';
import type { Machine } from './machine.js';
import type { Server } from './server.js';

/** Where a store is. */
export interface Surroundings {
  /** The server that its connections lead to, unless its address later leads elsewhere. */
  readonly server: Server;
  readonly machine: Machine;
  /** Does not count suspensions. */
  readonly clock: ReadingClock;
  /** Counts them. */
  readonly elapsed: Pick<Clock, 'now'>;
  readonly random: Random;
  readonly weather: Weather;
  /** Receives the events of the network, if there is a listener. */
  readonly trace: (text: () => string) => void;
}

/** Sends a command that is on its way, until its reply arrives, even if no caller waits for it any more. */
type Request = (link: Link) => void;

const SILENT = { debug() {}, log() {}, warn() {}, error() {} };
const MESSAGE = /^(granted|retry|yield|revoked) (\S+)/;

/**
 * One client's two connections to the server, for commands and for pushed messages, as ioredis has them: commands wait
 * for a connection, and commands that were unanswered when it broke are sent again on the next one. Above it is the
 * library's own store for Redis.
 */
export class StoreLine implements Connection {
  readonly commands: Commands;
  readonly scripts: ScriptRunner;
  readonly health: ConnectionHealth;
  /** Now and then the replicas are behind. */
  readonly replicas: Connection['replicas'] = {
    confirm: async ({ key, id, min }, entry, script) => {
      const behind = this.surroundings.random() < 0.3;
      const isHeld = await this.scripts.run(script, namedKeys([entry], key), [id], flag);
      return isHeld && !behind ? min : 0;
    },
  };
  epoch = 0;
  /** Called before the engine is notified. */
  onYield: (id: string) => void = () => undefined;
  /**
   * Called before the engine is notified: a life of the server has replied to a request about a grant, asked since the
   * last reconnect.
   */
  onAnswer: (id: string, life: number) => void = () => undefined;
  /** Called before the engine is notified: a hold was ended by force. */
  onRevoked: (id: string) => void = () => undefined;
  /** A hold is about to be given its vote again. */
  onReinstate: (id: string) => void = () => undefined;
  /** To which its connections lead from the next one on. */
  server: Server;
  /** In a Cluster: the replicas say whether its server is still the master. */
  readonly masters: Masters | undefined;
  /** The life of the server that its process knows of: it has noticed that the connection to any earlier one is lost. */
  knownLife = 0;
  private commandLink: Link | undefined;
  private pushes: Link | undefined;
  private confirmed: Subscription | undefined;
  private readonly doubts: Doubts;
  private mastership: Mastership;
  /** The epoch that began when the connection for commands broke last. */
  private reconnectEpoch = 0;
  private closed = false;
  /** How many commands its client has sent. */
  private sent = 0;
  private readonly unanswered = new Set<Request>();
  /** The epochs of requests, by their arguments. */
  private readonly epochs = new WeakMap<object, number>();
  /** Ends the commands that wait for a reply, also for a lost one. */
  private readonly waiting = new Set<(error: Error) => void>();
  private readonly noted = new Set<Server>();
  private started: ((error?: LockStoreError) => void) | undefined;

  constructor(
    readonly clientId: string,
    private readonly surroundings: Surroundings,
    private readonly observer: ConnectionObserver,
  ) {
    const { clock, elapsed, server } = surroundings;
    this.server = server;
    this.isCluster = server.node !== undefined;
    this.noteRestarts(server);
    this.doubts = new Doubts(clock);
    this.mastership = this.mastershipOf(server);
    this.masters = server.node === undefined ? undefined : this;
    this.commands = {
      run: (script) => {
        const words = [script.command.toUpperCase(), ...allArgs(script).map(String)];
        const reply = this.ask(words, script.args, (node) => (script.master = node));
        reply.then(
          (raw) => script.answered(raw),
          (error: Error) => script.failed(error),
        );
      },
      send: (...words) => this.ask(words.map(String), words),
    };
    this.health = new ConnectionHealth(SILENT, TIMES.commandTimeout, clock);
    this.scripts = new ScriptRunner(this, TIMES.commandTimeout, clock, elapsed);
  }

  readonly isCluster: boolean;
  /** The simulated server does not say. */
  readonly address = undefined;

  nodes(): ReturnType<Connection['nodes']> {
    return [{ address: '', commands: this.commands }];
  }

  /** One server takes several slots in one command. */
  separateSlots(): void {}

  get subscriptions(): Connection['subscriptions'] {
    return this;
  }

  get listening(): boolean {
    return this.confirmed !== undefined;
  }

  get fullySubscribed(): boolean {
    return this.listening && !this.doubts.isPending;
  }

  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.started = (error) => (error === undefined ? resolve() : reject(error));
      this.commandLink = this.newLink();
      this.subscribe();
    });
  }

  /** A command that waits for a reply then gets none, as with ioredis. */
  close(): void {
    this.disconnect(0);
    this.started?.(failure('the store is closed'));
    for (const fail of this.waiting) fail(new Error('Connection is closed.'));
  }

  doubt(): void {
    // There are no Sentinels that could name another server.
  }

  subscription(): Subscription | undefined {
    return this.confirmed;
  }

  async subscribeTo(): Promise<boolean> {
    return this.listening;
  }

  group<T>(items: readonly T[]): T[][] {
    return [[...items]];
  }

  /** The process is gone, or has closed its connections; the server notices after `noticed` ms. */
  disconnect(noticed: number): void {
    this.closed = true;
    this.unconfirm();
    const { commandLink, pushes } = this;
    if (commandLink !== undefined) commandLink.isBroken = true;
    if (pushes !== undefined) pushes.isBroken = true;
    this.commandLink = this.pushes = undefined;
    this.leaveChannel(noticed);
  }

  /** Both connections break, and are made anew to another server, until that has lasted for so many ms. */
  leadTo(server: Server, ms: number): void {
    const { machine, server: home } = this.surroundings;
    const { world } = machine;
    this.move(server);
    world.at(world.now + ms, () => this.move(home));
  }

  /** The client has learned that this server was replaced. */
  private follow(server: Server): void {
    let last = server;
    while (last.successor !== undefined) last = last.successor;
    if (this.server === server) this.move(last);
  }

  /** Both connections break, and are made anew to another server. */
  private move(to: Server): void {
    if (this.closed) return;
    this.noteRestarts(to);
    this.cutCommands(1);
    this.cutPushes(1, 0);
    this.server = to;
    this.mastership = this.mastershipOf(to);
    const { life } = to;
    this.surroundings.machine.do(() => (this.knownLife = life));
  }

  /**
   * The connection for commands breaks, and is made anew after `lasts` ms. The server gets what was on its way `lag` ms
   * later, behind requests on the next connection.
   */
  cutCommands(lasts: number, lag = 0): void {
    const { machine } = this.surroundings;
    if (this.closed) return;
    const { life } = this.server;
    machine.do(() => (this.knownLife = life));
    if (this.commandLink === undefined) return;
    this.commandLink.isBroken = true;
    this.commandLink.lag = lag;
    this.commandLink = undefined;
    machine.do(() => {
      this.health.down();
      this.epoch += 1;
      this.reconnectEpoch = this.epoch;
    });
    this.later(lasts, () => {
      if (this.commandLink !== undefined) return;
      const link = (this.commandLink = this.newLink());
      this.health.up();
      for (const request of this.unanswered) request(link);
      this.observer.restored();
    });
  }

  /** The connection that listens breaks; the server still counts it as present for `noticed` ms. */
  cutPushes(lasts: number, noticed: number): void {
    if (this.closed || this.pushes === undefined) return;
    this.pushes.isBroken = true;
    this.pushes = undefined;
    this.leaveChannel(noticed);
    this.surroundings.machine.do(() => {
      this.unconfirm();
      this.epoch += 1;
    });
    this.later(lasts, () => this.subscribe());
  }

  get isAsking(): boolean {
    return this.mastership.isAsking;
  }

  /** As in `ClusterNodes`, a reply or message of a server that has been left does not count. */
  confirm(name: string, node: string | undefined = this.server.node): Promise<boolean> | undefined {
    return node === this.server.node ? this.mastership.confirm(name) : Promise.resolve(false);
  }

  /** Resolves to the reply, however late it comes; rejects with an error of the server, or if the line is closed. */
  private ask(words: readonly string[], args: object, sentTo?: (node: string) => void): Promise<unknown> {
    const { clock, elapsed, machine, weather, random } = this.surroundings;
    if (this.closed) return Promise.reject(new Error('Connection is closed.'));
    const { server: asked } = this;
    // A script that the server does not know is sent again, by its text. To the caller it is the same request.
    const epoch = this.epochs.get(args) ?? this.epoch;
    this.epochs.set(args, epoch);
    const call = callOf(words, (this.sent += 1), this.surroundings.server.name);
    const sent = clock.now();
    const askedAt = elapsed.now();
    if (call.script === 'reinstate' && Number(call.args[3]) > 0) this.onReinstate(call.args[0]!);
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => (): void => {
        if (!this.unanswered.delete(request)) return;
        this.waiting.delete(reject);
        settle();
      };
      this.waiting.add(reject);
      // A message that is lost on a link that delivers others is not sent again when that link breaks.
      const onItsWay = (is: boolean): void => {
        if (!is) this.unanswered.delete(request);
      };
      const request: Request = (link) => {
        const { server } = this;
        const { life: openIn } = server;
        sentTo?.(server.node ?? ONE_SERVER);
        const isRefused = random() < weather.refusals;
        const isThere = (): boolean => server.life === openIn;
        const isSent = link.there((again) => {
          if (isRefused) return void link.back(0, () => machine.do(end(() => reject(replyError('LOADING not now')))));
          // Sent again where the address leads to another master of the quorum: it may end the vote there.
          if (call.script === 'release' && server !== asked) server.endUnasked(call);
          server.execute(call, again, (reply) => {
            const { life } = server;
            const answer = (): void => {
              // A caller that has waited for longer may have an error already.
              const isInTime = clock.now() - sent < TIMES.commandTimeout && epoch >= this.reconnectEpoch;
              if (isInTime && !(reply instanceof Error)) {
                for (const id of grantsOf(call)) this.onAnswer(id, life);
              }
              if (elapsed.now() - askedAt <= UNDOUBTED) server.countLost(call);
              this.overhear(call, reply);
              if (reply instanceof Error) reject(reply);
              else resolve(reply);
            };
            onItsWay(link.back(weather.loss, () => machine.do(end(answer))));
          });
        }, isThere);
        onItsWay(isSent);
      };
      this.unanswered.add(request);
      if (this.commandLink !== undefined) request(this.commandLink);
    });
  }

  private overhear({ script, args }: Call, reply: unknown): void {
    if (script === 'reinstate' && reply === -1) this.onRevoked(args[0]!);
  }

  private subscribe(): void {
    if (this.closed || this.pushes !== undefined) return;
    const { machine } = this.surroundings;
    const { server } = this;
    const link = (this.pushes = this.newLink());
    const subscribed = (): void => {
      if (link !== this.pushes) return;
      this.confirmSubscription();
      this.started?.();
      this.started = undefined;
      this.observer.restored();
    };
    this.later(link.delay(), () => {
      if (link.isBroken) return;
      server.do(() => {
        // Broken while the server stood still.
        if (link.isBroken) return;
        server.subscribe(this.clientId, (message, channel) => this.hear(link, server, message, channel));
        link.back(0, () => machine.do(subscribed));
      });
    });
  }

  private confirmSubscription(): void {
    const subscription: Subscription = {
      since: this.surroundings.clock.now(),
      heardAt: -Infinity,
      doubt: (why) => {
        if (this.confirmed !== subscription) return;
        this.surroundings.trace(() => `${this.clientId} doubts its subscription: ${why}`);
        this.doubts.raise(() => this.cutPushes(1, 0));
      },
    };
    this.confirmed = subscription;
  }

  private unconfirm(): void {
    this.confirmed = undefined;
    this.doubts.drop();
  }

  private hear(link: Link, server: Server, message: string, channel: string): void {
    const { clock, weather, machine, trace } = this.surroundings;
    const isSharded = channel.includes('{');
    const node = server.node === undefined ? ONE_SERVER : isSharded ? server.node : undefined;
    link.back(weather.pushLoss, () =>
      machine.do(() => {
        if (this.closed) return;
        trace(() => `${this.clientId} hears: ${message}`);
        if (link === this.pushes && this.confirmed !== undefined) this.confirmed.heardAt = clock.now();
        const confirmed = isSharded ? this.confirm(channel, node) : undefined;
        if (confirmed === undefined) return this.pass(message, node);
        void confirmed.then((isMaster) => {
          if (isMaster && !link.isBroken) this.pass(message, node);
        });
      }),
    );
  }

  private pass(message: string, node: string | undefined): void {
    const [, word, id] = MESSAGE.exec(message) ?? [];
    if (word === 'yield') this.onYield(id!);
    if (word === 'revoked') this.onRevoked(id!);
    this.observer.message(message, node);
  }

  /** A replica that has taken over knows at once, and the client follows it. */
  private mastershipOf(server: Server): Mastership {
    const { machine, elapsed } = this.surroundings;
    const { world } = machine;
    const ask = (): Promise<boolean> =>
      new Promise((resolve) => {
        const link = this.newLink();
        const answered = (isMaster: boolean) => (): void => {
          if (!isMaster) this.follow(server);
          resolve(isMaster);
        };
        world.at(world.now + link.delay(), () => {
          const isMaster = server.successor === undefined;
          link.back(0, () => machine.do(answered(isMaster)));
        });
      });
    return new Mastership(ask, elapsed);
  }

  private leaveChannel(noticed: number): void {
    const { machine } = this.surroundings;
    const { server } = this;
    const { world } = machine;
    const was = this.pushes;
    world.at(world.now + noticed, () => {
      server.do(() => {
        // It may have subscribed again meanwhile.
        if (this.pushes === was || this.server !== server) server.unsubscribe(this.clientId);
      });
    });
  }

  /** The network is none of the process's doing, so this happens whether it runs or not. */
  private later(ms: number, work: () => void): void {
    const { machine } = this.surroundings;
    machine.world.at(machine.world.now + ms, () =>
      machine.do(() => {
        if (!this.closed) work();
      }),
    );
  }

  private noteRestarts(server: Server): void {
    if (this.noted.has(server)) return;
    this.noted.add(server);
    server.onRestart.push((downFor) => {
      if (this.server !== server) return;
      this.cutCommands(downFor);
      this.cutPushes(downFor, 0);
    });
    server.onReplaced.push((within) => {
      const { machine, random } = this.surroundings;
      machine.world.at(machine.world.now + random() * within, () => machine.do(() => this.follow(server)));
    });
  }

  private newLink(): Link {
    const { machine, random, weather } = this.surroundings;
    return new Link(machine.world, random, weather);
  }
}

/** A failure that passes. */
const failure = (message: string): LockStoreError => new LockStoreError(message, { transient: true });
