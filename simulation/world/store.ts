import type { Clock } from '../../lib/common/clock.js';
import { LockStoreError } from '../../lib/errors/index.js';
import type {
  AcquireAllReply,
  AcquireReply,
  AcquireRequest,
  ForceReleaseReply,
  HoldName,
  LockStoreListener,
  OfferReply,
  OfferRequest,
  ReleaseReply,
  ReleaseRequest,
  RenewReply,
  RenewRequest,
  ReplicateRequest,
  StoredLock,
} from '../../lib/store/lock-store.js';
import type { MemoryBackend } from '../../lib/store/memory/memory-backend.js';
import type {
  FenceReply,
  FenceRequest,
  QuorumMember,
  ReinstateReply,
  ReinstateRequest,
  ServerIdentity,
} from '../../lib/store/quorum-member.js';
import type { Random } from '../schedule/noise.js';
import type { Weather } from '../schedule/schedule.js';
import { Link } from './link.js';
import type { Machine } from './machine.js';
import type { Push, Server } from './server.js';
import { traced } from './traced.js';

/** Where a store is. */
export interface Surroundings {
  /** The server that its connections lead to, unless its address later leads elsewhere. */
  readonly server: Server;
  readonly machine: Machine;
  readonly clock: Clock;
  readonly random: Random;
  readonly weather: Weather;
  /** ms */
  readonly commandTimeout: number;
  /** Receives the events of the network, if there is a listener. */
  readonly trace: (text: () => string) => void;
}

/** A question on its way, until its answer arrives, even if no caller waits for it any more. */
interface Question {
  readonly send: (link: Link) => void;
}

/**
 * One client's two connections to the server, for commands and for pushed messages, as ioredis has them: commands wait
 * for a connection, and commands that were unanswered when it broke are sent again on the next one.
 */
export class SimulatedStore implements QuorumMember {
  readonly keepsPermits = true;
  readonly latches = undefined;
  listening = false;
  epoch = 0;
  /** Called before the engine is notified. */
  onYield: (id: string) => void = () => undefined;
  /**
   * Called before the engine is notified: a life of the server has answered a question about a grant, asked since the
   * last reconnect.
   */
  onAnswer: (id: string, life: number) => void = () => undefined;
  /** Called before the engine is notified: a hold was ended by force. */
  onRevoked: (id: string) => void = () => undefined;
  /** A hold is about to be given its vote again. */
  onReinstate: (id: string) => void = () => undefined;
  /** To which its connections lead from the next one on. */
  server: Server;
  /** The life of the server that its process knows of: it has noticed that the connection to any earlier one is lost. */
  knownLife = 0;
  private commands: Link | undefined;
  private pushes: Link | undefined;
  private downSince: number | undefined;
  /** The epoch that began when the connection for commands broke last. */
  private reconnectEpoch = 0;
  private closed = false;
  private readonly unanswered = new Set<Question>();
  /** The calls that wait for an answer, also to a question that was lost. */
  private readonly waiting = new Set<(error: LockStoreError) => void>();
  private readonly noted = new Set<Server>();
  private listener: LockStoreListener | undefined;
  private started: ((error?: LockStoreError) => void) | undefined;

  constructor(
    readonly clientId: string,
    private readonly surroundings: Surroundings,
  ) {
    this.server = surroundings.server;
    this.noteRestarts(surroundings.server);
  }

  get unreachable(): LockStoreError | undefined {
    const { clock, commandTimeout } = this.surroundings;
    if (this.downSince === undefined || clock.now() - this.downSince < commandTimeout) return undefined;
    return failure('out of reach');
  }

  listen(listener: LockStoreListener): void {
    this.listener = listener;
  }

  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.started = (error) => (error === undefined ? resolve() : reject(error));
      this.commands = this.newLink();
      this.subscribe();
    });
  }

  /** A call that waits for an answer then gets none, as with ioredis. */
  async close(): Promise<void> {
    this.disconnect(0);
    this.started?.(closed());
    for (const fail of this.waiting) fail(closed());
  }

  /** The process is gone, or does not want to know any more; the server notices after `noticed` ms. */
  disconnect(noticed: number): void {
    this.closed = true;
    this.listening = false;
    const { commands, pushes } = this;
    if (commands !== undefined) commands.isBroken = true;
    if (pushes !== undefined) pushes.isBroken = true;
    this.commands = this.pushes = undefined;
    this.leaveChannel(noticed);
  }

  /** Both connections break, and are made anew to another server, until that has lasted for so many ms. */
  leadTo(server: Server, ms: number): void {
    const { machine, server: home } = this.surroundings;
    const { world } = machine;
    const move = (to: Server): void => {
      if (this.closed) return;
      this.noteRestarts(to);
      this.cutCommands(1);
      this.cutPushes(1, 0);
      this.server = to;
      const { life } = to;
      machine.do(() => (this.knownLife = life));
    };
    move(server);
    world.at(world.now + ms, () => move(home));
  }

  /**
   * The connection for commands breaks, and is made anew after `lasts` ms. The server gets what was on its way `lag` ms
   * later, behind requests on the next connection.
   */
  cutCommands(lasts: number, lag = 0): void {
    const { machine, clock } = this.surroundings;
    if (this.closed) return;
    const { life } = this.server;
    machine.do(() => (this.knownLife = life));
    if (this.commands === undefined) return;
    this.commands.isBroken = true;
    this.commands.lag = lag;
    this.commands = undefined;
    machine.do(() => {
      this.downSince ??= clock.now();
      this.epoch += 1;
      this.reconnectEpoch = this.epoch;
    });
    this.later(lasts, () => {
      if (this.commands !== undefined) return;
      const link = (this.commands = this.newLink());
      this.downSince = undefined;
      for (const question of this.unanswered) question.send(link);
      this.listener?.restored();
    });
  }

  /** The connection that listens breaks; the server still counts it as present for `noticed` ms. */
  cutPushes(lasts: number, noticed: number): void {
    if (this.closed || this.pushes === undefined) return;
    this.pushes.isBroken = true;
    this.pushes = undefined;
    this.leaveChannel(noticed);
    this.surroundings.machine.do(() => {
      this.listening = false;
      this.epoch += 1;
    });
    this.later(lasts, () => this.subscribe());
  }

  acquire(request: AcquireRequest): Promise<AcquireReply> {
    const asked = this.audible(request);
    return this.ask(
      request.key,
      request.adopts === undefined ? `acquire ${request.id}` : `adopt ${request.adopts} as ${request.id}`,
      (backend) => backend.withLock(request.key, (lock) => lock.acquire(asked)),
      [request.id],
    );
  }

  release(request: ReleaseRequest): Promise<ReleaseReply> {
    const { server: asked } = this;
    const next = request.next && this.audible(request.next);
    const what = next === undefined ? `release ${request.id}` : `release ${request.id}, acquire ${next.id}`;
    return this.ask(request.key, what, (backend, server) => {
      // Sent again where the address leads to another master of the quorum: it may end the vote there.
      if (server !== asked) server.endUnasked(request.key, request.id);
      return backend.withLock(request.key, (lock) => lock.release({ ...request, next }));
    });
  }

  async renew(requests: readonly RenewRequest[]): Promise<RenewReply[]> {
    const what = `renew ${requests.map(({ id, lease }) => `${id} ${lease}`).join(', ')}`;
    try {
      return await this.ask(
        '',
        what,
        (backend) => requests.map(({ key, id, lease }) => backend.withLock(key, (lock) => lock.renew(id, lease))),
        requests.map(({ id }) => id),
      );
    } catch (error) {
      return requests.map(() => error as LockStoreError);
    }
  }

  offer(request: OfferRequest): Promise<OfferReply> {
    const { key, id, offer, lease } = request;
    return this.ask(key, `offer ${id} as ${offer} ${lease}`, (backend) =>
      backend.withLock(key, (lock) => lock.offer(request)),
    );
  }

  extend({ key, id, lease }: RenewRequest): Promise<RenewReply> {
    const extend = (backend: MemoryBackend): RenewReply => backend.withLock(key, (lock) => lock.extend(id, lease));
    return this.ask(key, `extend ${id} ${lease}`, extend, [id]);
  }

  acquireAll(requests: readonly AcquireRequest[]): Promise<AcquireAllReply | undefined> {
    return this.ask('', `acquire-all ${requests.map(({ id }) => id).join(', ')}`, (backend) =>
      backend.acquireAll(requests),
    );
  }

  /** Now and then the replicas are behind. */
  replicate({ key, id, min }: ReplicateRequest): Promise<number> {
    const behind = this.surroundings.random() < 0.3;
    return this.ask(key, `confirm ${id}`, (backend) =>
      backend.withLock(key, (lock) => (lock.has(id) && !behind ? min : 0)),
    );
  }

  async setLimit(key: string, permits: number): Promise<void> {
    const seen = await this.ask(key, 'limit', (backend) => backend.withLock(key, (lock) => lock.limitVersion));
    return this.ask(key, `set-limit ${permits} after ${seen}`, (backend) =>
      backend.withLock(key, (lock) => lock.setLimit(permits, seen)),
    );
  }

  async forceRelease(key: string): Promise<ForceReleaseReply> {
    const { holds } = await this.inspect(key);
    return this.endHolds(key, holds);
  }

  endHolds(key: string, holds: readonly HoldName[], memory?: number): Promise<ForceReleaseReply> {
    const names = holds.map(({ id, since }) => ({ id, since }));
    return this.ask(key, `force-release ${names.map(({ id }) => id).join(', ')}`, (backend, server) => {
      server.endByForce(key, names);
      return backend.withLock(key, (lock) => lock.endHolds(names, memory));
    });
  }

  fence(request: FenceRequest): Promise<FenceReply> {
    const { key, id, token } = request;
    const fence = (backend: MemoryBackend): FenceReply => backend.withLock(key, (lock) => lock.fence(request));
    return this.ask(key, `fence ${id} ${token}`, fence);
  }

  async reinstate(request: ReinstateRequest): Promise<ReinstateReply> {
    const { key, id, lease } = request;
    if (lease > 0) this.onReinstate(id);
    const reply = await this.ask(key, `reinstate ${id} ${lease}`, (backend, server) => {
      const [hadIt, answer] = backend.withLock(key, (lock) => [lock.has(id), lock.reinstate(request)] as const);
      if (answer === 'held' && !hadIt) server.onReinstated(key, id);
      return answer;
    });
    if (reply === 'left') this.onRevoked(id);
    return reply;
  }

  identify(): Promise<ServerIdentity | undefined> {
    return this.ask('', 'info', ({ now }, { name, life }) => ({
      runId: `${name} ${life}`,
      inCluster: false,
      time: now,
    }));
  }

  inspect(key: string): Promise<StoredLock> {
    return this.ask(key, 'inspect', (backend) => backend.inspect(key));
  }

  /** Rejects after `commandTimeout`; the question may still be executed, or have been executed. */
  private ask<Reply>(
    key: string,
    name: string,
    script: (backend: MemoryBackend, server: Server) => Reply,
    /** The grants that it is about. */
    ids: readonly string[] = [],
  ): Promise<Reply> {
    const { clock, commandTimeout, machine, weather, random } = this.surroundings;
    if (this.closed) return Promise.reject(closed());
    const { epoch } = this;
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => (): void => {
        if (!this.unanswered.delete(question)) return;
        clock.clearTimer(limit);
        this.waiting.delete(fail);
        settle();
      };
      let isInTime = true;
      const limit = clock.setTimer(commandTimeout, () => {
        isInTime = false;
        fail(failure('no answer'));
      });
      const fail = (error: LockStoreError): void => {
        this.waiting.delete(fail);
        clock.clearTimer(limit);
        reject(error);
      };
      this.waiting.add(fail);
      // A message that is lost on a link that delivers others is not sent again when that link breaks.
      const onItsWay = (is: boolean): void => {
        if (!is) this.unanswered.delete(question);
      };
      const question: Question = {
        send: (link) => {
          const { server } = this;
          const { life: openIn } = server;
          const isRefused = random() < weather.refusals;
          const isThere = (): boolean => server.life === openIn;
          const isSent = link.there((again) => {
            if (isRefused) return void link.back(0, () => machine.do(end(() => reject(failure('not now')))));
            const execute = (backend: MemoryBackend): Reply => script(backend, server);
            server.execute(key, again ? `${name}, again` : name, execute, (reply) => {
              const { life } = server;
              const answer = (): void => {
                if (isInTime && epoch >= this.reconnectEpoch) for (const id of ids) this.onAnswer(id, life);
                resolve(reply);
              };
              onItsWay(link.back(weather.loss, () => machine.do(end(answer))));
            });
          }, isThere);
          onItsWay(isSent);
        },
      };
      this.unanswered.add(question);
      if (this.commands !== undefined) question.send(this.commands);
    });
  }

  private subscribe(): void {
    if (this.closed || this.pushes !== undefined) return;
    const { machine } = this.surroundings;
    const { server } = this;
    const link = (this.pushes = this.newLink());
    const subscribed = (): void => {
      if (link !== this.pushes) return;
      this.listening = true;
      this.started?.();
      this.started = undefined;
      this.listener?.restored();
    };
    this.later(link.delay(), () => {
      if (link.isBroken) return;
      server.execute(
        '',
        `subscribe ${this.clientId}`,
        () => {
          // Broken while the server stood still.
          if (!link.isBroken) server.subscribe(this.clientId, (push) => this.hear(link, push));
        },
        () => link.back(0, () => machine.do(subscribed)),
      );
    });
  }

  private hear(link: Link, push: Push): void {
    const { weather, machine, trace } = this.surroundings;
    link.back(weather.pushLoss, () =>
      machine.do(() => {
        if (!this.closed && this.listener !== undefined) push(traced(this.listener, trace, this));
      }),
    );
  }

  private leaveChannel(noticed: number): void {
    const { machine } = this.surroundings;
    const { server } = this;
    const { world } = machine;
    const was = this.pushes;
    world.at(world.now + noticed, () => {
      // It may have subscribed again meanwhile.
      if (this.pushes === was || this.server !== server) server.unsubscribe(this.clientId);
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
  }

  private newLink(): Link {
    const { machine, random, weather } = this.surroundings;
    return new Link(machine.world, random, weather);
  }

  private audible(request: AcquireRequest): AcquireRequest {
    return this.listening ? request : { ...request, waits: false };
  }
}

const closed = (): LockStoreError => new LockStoreError('the store is closed');

/** A failure that passes. */
const failure = (message: string): LockStoreError => new LockStoreError(message, { transient: true });
