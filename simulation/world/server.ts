import type { LockStoreListener, StoredLock } from '../../lib/store/lock-store.js';
import { MemoryBackend } from '../../lib/store/memory/memory-backend.js';
import { copyOf } from './copy.js';
import { type Machine, MachineClock, WALL } from './machine.js';

/** A message that a server pushes. */
export type Push = (listener: LockStoreListener) => void;

/** What is told of each script that a server has executed. */
export type ScriptObserver = (key: string, script: string) => void;

/** What a replica has: the state of its server at some moment. */
export interface Replica {
  readonly state: MemoryBackend;
  /** Which life of the server it followed. */
  readonly life: number;
}

/** The one server of a world: the memory store's, which can be stopped, restarted and emptied, and has replicas. */
export class Server {
  backend: MemoryBackend;
  /** Grows with each script that is executed. */
  version = 0;
  /** Everybody who has a connection hears when it is lost. */
  onRestart: Array<(downFor: number) => void> = [];
  onScript: ScriptObserver = () => undefined;
  /** Grows with each restart: what was on its way to an earlier one arrives nowhere. */
  life = 0;
  private readonly clock: MachineClock;
  private readonly looks = new Map<string, { version: number; at: number; lock: StoredLock }>();

  constructor(private readonly machine: Machine) {
    this.clock = new MachineClock(machine);
    this.backend = new MemoryBackend(this.clock, WALL);
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
        });
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

  /** Comes back after `ms`, with what it had, or without. */
  restart(ms: number, keeps: boolean): void {
    this.comeBack(ms, keeps ? this.backend : new MemoryBackend(this.clock, WALL));
  }

  /** A replica that hears of nothing from now on. */
  replica(): Replica {
    return { state: copyOf(this.backend, [this.clock]), life: this.life };
  }

  /** The replica takes over within `ms`; its clock is `ahead` ms (whole ones) ahead of that of the server before it. */
  failOver({ state }: Replica, ms: number, ahead: number): void {
    Reflect.set(state, 'origin', (Reflect.get(state, 'origin') as number) + ahead);
    // Nobody has subscribed there.
    Reflect.set(state, 'clients', new Map());
    this.comeBack(ms, state);
  }

  private comeBack(ms: number, backend: MemoryBackend): void {
    this.life += 1;
    this.version += 1;
    this.freeze(ms);
    this.backend = backend;
    for (const lose of this.onRestart) lose(ms);
  }

  /** What is known of a key; looked up once for each moment. */
  inspect(key: string): StoredLock {
    const { version, machine } = this;
    let look = this.looks.get(key);
    if (look?.version !== version || look.at !== machine.now) {
      look = { version, at: machine.now, lock: this.backend.inspect(key) };
      this.looks.set(key, look);
    }
    return look.lock;
  }

  isPresent(id: string): boolean {
    return this.backend.isPresent(id);
  }

  /** The world's time when a lease ends of which so many ms are left. */
  endOf(ttl: number): number {
    // Its time is in whole ms, as that of Redis.
    return this.machine.worldTime(Math.floor(this.machine.now) + ttl);
  }
}
