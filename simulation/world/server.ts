import type { HoldName, LockStoreListener, StoredHold, StoredLock } from '../../lib/store/lock-store.js';
import { MemoryBackend } from '../../lib/store/memory/memory-backend.js';
import type { MemoryLockState } from '../../lib/store/memory/memory-lock-state.js';
import { PARKED_READ } from '../../lib/store/protocol.generated.js';
import { KEYS } from '../schedule/schedule.js';
import { copyOf } from './copy.js';
import { type Machine, MachineClock, WALL } from './machine.js';

/** A message that a server pushes. */
export type Push = (listener: LockStoreListener) => void;

/** Receives each script that a server has executed. */
export type ScriptObserver = (key: string, script: string) => void;

/** The state of a key that a server is about to lose. */
export interface Loss {
  readonly key: string;
  readonly holds: readonly StoredHold[];
  /** The last fencing token, if that is lost, too. */
  readonly lastToken: number;
  /** From which life of the server on its answers tell of that; `Infinity`: they never do. */
  readonly life: number;
  readonly byForce: boolean;
}

/** The data of a replica: the state of its server at some moment. */
export interface Replica {
  readonly state: MemoryBackend;
  /** Which life of the server it followed. */
  readonly life: number;
}

/** A server of a world: the memory store's, which can be stopped, restarted and emptied, and has replicas. */
export class Server {
  backend: MemoryBackend;
  /** Grows with each script that is executed. */
  version = 0;
  /** Every client that has a connection is notified when it is lost. */
  onRestart: Array<(downFor: number) => void> = [];
  onScript: ScriptObserver = () => undefined;
  /** Called before the loss. */
  onLoss: (loss: Loss) => void = () => undefined;
  /** A hold has its vote here again. */
  onReinstated: (key: string, id: string) => void = () => undefined;
  /** It could not execute something, which is a fault of this simulation or of the memory store. */
  onFailure: (error: Error) => void = () => undefined;
  /** Grows with each restart: messages that were on their way to an earlier life never arrive. */
  life = 0;
  private readonly clock: MachineClock;
  private readonly looks = new Map<string, { version: number; at: number; lock: StoredLock }>();

  constructor(
    readonly name: string,
    private readonly machine: Machine,
    /** Whole ms by which its clock is ahead. */
    private readonly ahead: number,
  ) {
    this.clock = new MachineClock(machine);
    this.backend = this.emptyBackend();
  }

  /** The reading of its clock, in ms. */
  get time(): number {
    return WALL + this.ahead + this.machine.now;
  }

  /** Executes a script as soon as it runs; its answer is given to `answer`. */
  execute<Reply>(
    key: string,
    name: string,
    script: (backend: MemoryBackend) => Reply,
    answer: (reply: Reply) => void,
  ): void {
    const { life } = this;
    this.machine.do(() => {
      if (life !== this.life) return;
      void this.backend
        .execute(() => script(this.backend))
        .then((reply) => {
          this.version += 1;
          this.onScript(key, name);
          answer(reply);
        })
        .catch((error: unknown) => this.onFailure(error as Error));
    });
  }

  subscribe(client: string, hear: (push: Push) => void): void {
    this.backend.subscribe(client, hear);
  }

  unsubscribe(client: string): void {
    this.backend.unsubscribe(client);
  }

  freeze(ms: number): void {
    this.machine.stall(ms);
  }

  /** Restarts after `ms`, with its data or without. */
  restart(ms: number, keeps: boolean): void {
    if (!keeps) this.loseAll();
    this.comeBack(ms, keeps ? this.backend : this.emptyBackend());
  }

  /** A replica that receives no writes from now on. */
  replica(): Replica {
    return { state: copyOf(this.backend, [this.clock]), life: this.life };
  }

  /** The replica takes over within `ms`; its clock is `ahead` ms (whole ones) ahead of that of the server before it. */
  failOver({ state }: Replica, ms: number, ahead: number): void {
    this.loseAll();
    Reflect.set(state, 'origin', (Reflect.get(state, 'origin') as number) + ahead);
    // No client has subscribed there.
    Reflect.set(state, 'clients', new Map());
    this.comeBack(ms, state);
  }

  /** Some holds of a key are about to be ended by force. */
  endByForce(key: string, names: readonly HoldName[]): void {
    this.endSome(key, true, ({ id, since }) => names.some((name) => name.id === id && name.since === since));
  }

  /** A release that was meant for another server is about to end a hold. */
  endUnasked(key: string, id: string): void {
    this.endSome(key, false, (hold) => hold.id === id);
  }

  private endSome(key: string, byForce: boolean, isOne: (hold: StoredHold) => boolean): void {
    // A script executes at one moment.
    const { holds } = this.backend.withLock(key, (lock) => lock.inspect(0));
    this.onLoss({ key, holds: holds.filter(isOne), lastToken: 0, life: Infinity, byForce });
  }

  /** Reports the loss of all keys: a replica or an empty server replaces this state. */
  private loseAll(): void {
    for (const key of KEYS) {
      const { holds, lastToken } = this.inspect(key);
      this.onLoss({ key, holds, lastToken, life: this.life + 1, byForce: false });
    }
  }

  private emptyBackend(): MemoryBackend {
    return new MemoryBackend(this.clock, WALL + this.ahead);
  }

  private comeBack(ms: number, backend: MemoryBackend): void {
    this.life += 1;
    this.version += 1;
    this.freeze(ms);
    this.backend = backend;
    for (const lose of this.onRestart) lose(ms);
  }

  /** The state of a key; looked up once for each moment. */
  inspect(key: string): StoredLock {
    const { version, machine } = this;
    let look = this.looks.get(key);
    if (look?.version !== version || look.at !== machine.now) {
      look = { version, at: machine.now, lock: this.backend.inspect(key) };
      this.looks.set(key, look);
    }
    return look.lock;
  }

  /** The waiters of a key that a script looks at, in turn. Of clients that were away it looks at the first few only. */
  grantable(key: string): string[] {
    const { backend } = this;
    const queue = backend.withLock(key, (lock) => (Reflect.get(lock, 'state') as MemoryLockState).queue);
    const all = [...queue.read(backend.now), ...queue.readParked(PARKED_READ)];
    return all.filter(({ staleAt }) => staleAt > backend.now).map(({ id }) => id);
  }

  isPresent(id: string): boolean {
    return this.backend.isPresent(id);
  }

  /** The world's time when a lease ends that has this many ms left. */
  endOf(ttl: number): number {
    // Its time is in whole ms, as that of Redis.
    return this.machine.worldTime(Math.floor(this.machine.now) + ttl);
  }
}
