import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { LockStoreError, type LockStore, type LockStoreListener } from 'nestjs-redis-locks/store';

interface Failure {
  readonly message: string;
  readonly key?: string;
  readonly transient?: boolean;
}

interface Line {
  readonly event?: 'hello' | keyof LockStoreListener;
  readonly args?: readonly unknown[];
  readonly number?: number;
  readonly value?: unknown;
  readonly error?: Failure;
}

interface Question {
  resolve(value: any): void;
  reject(error: LockStoreError): void;
}

const failure = ({ message, ...details }: Failure): LockStoreError => new LockStoreError(message, details);

/** A store of a user's own: its locks are in another process. It needs nothing but the store port of the package. */
export class ProcessStore implements LockStore {
  readonly epoch = 0;
  readonly keepsPermits = true;
  readonly latches: NonNullable<LockStore['latches']> = {
    setCount: (request) => this.ask('latches.setCount', request),
    countDown: (key, id) => this.ask('latches.countDown', key, id),
    count: (key, patience, seen) => this.ask('latches.count', key, patience, seen),
    delete: (key, id, latch) => this.ask('latches.delete', key, id, latch),
    replicate: (request) => this.ask('latches.replicate', request),
  };
  readonly permits: NonNullable<LockStore['permits']> = {
    add: (request) => this.ask('permits.add', request),
    keepUnits: (request) => this.ask('permits.keepUnits', request),
  };
  listening = false;
  unreachable: LockStoreError | undefined;
  private listener: LockStoreListener | undefined;
  private readonly questions = new Map<number, Question>();
  private lastNumber = 0;

  private constructor(
    private readonly socket: Socket,
    readonly clientId: string,
  ) {
    socket.on('error', () => undefined);
    socket.on('close', () => this.disconnected());
  }

  /** Connects. The server names the client, so the store exists only after that. */
  static open(port: number): Promise<ProcessStore> {
    const socket = connect(port, '127.0.0.1');
    socket.setNoDelay(true);
    return new Promise((resolve, reject) => {
      let store: ProcessStore | undefined;
      socket.once('error', reject);
      const lines = createInterface(socket);
      // It repeats the errors of the socket.
      lines.on('error', () => undefined);
      lines.on('line', (text) => {
        const line = JSON.parse(text) as Line;
        if (store !== undefined) return store.received(line);
        store = new ProcessStore(socket, line.args![0] as string);
        resolve(store);
      });
    });
  }

  listen(listener: LockStoreListener): void {
    this.listener = listener;
  }

  async start(): Promise<void> {
    await this.ask('start');
    this.listening = true;
  }

  async close(): Promise<void> {
    this.socket.destroy();
  }

  acquire: LockStore['acquire'] = (request) => this.ask('acquire', request);
  release: LockStore['release'] = (request) => this.ask('release', request);
  offer: LockStore['offer'] = (request) => this.ask('offer', request);
  acquireAll: LockStore['acquireAll'] = (requests) => this.ask('acquireAll', requests);
  replicate: LockStore['replicate'] = (request) => this.ask('replicate', request);
  setLimit: LockStore['setLimit'] = (key, permits) => this.ask('setLimit', key, permits);
  forceRelease: LockStore['forceRelease'] = (key, hold, by) => this.ask('forceRelease', key, hold, by);
  inspect: LockStore['inspect'] = (key, maxWaiters) => this.ask('inspect', key, ...(maxWaiters ? [maxWaiters] : []));
  list: NonNullable<LockStore['list']> = (request) => this.ask('list', request);

  /** Never rejects: a renewal that failed is an error in the list. */
  renew: LockStore['renew'] = async (requests) => {
    try {
      const replies = await this.ask<Array<number | 'not-held' | { failed: Failure }>>('renew', requests);
      return replies.map((reply) => (typeof reply === 'object' ? failure(reply.failed) : reply));
    } catch (error) {
      return requests.map(() => error as LockStoreError);
    }
  };

  private ask<Reply>(method: string, ...args: unknown[]): Promise<Reply> {
    if (this.unreachable !== undefined) return Promise.reject(this.unreachable);
    const number = (this.lastNumber += 1);
    return new Promise((resolve, reject) => {
      this.questions.set(number, { resolve, reject });
      this.socket.write(`${JSON.stringify({ number, method, args })}\n`);
    });
  }

  private received({ event, args = [], number, value, error }: Line): void {
    if (event !== undefined && event !== 'hello') {
      (this.listener?.[event] as ((...of: readonly unknown[]) => void) | undefined)?.(
        // JSON has no `undefined`.
        ...args.map((each) => each ?? undefined),
      );
      return;
    }
    const question = this.questions.get(number!);
    this.questions.delete(number!);
    if (error === undefined) question?.resolve(value);
    else question?.reject(failure(error));
  }

  private disconnected(): void {
    this.listening = false;
    this.unreachable = new LockStoreError('the process that keeps the locks is gone', { transient: true });
    for (const { reject } of this.questions.values()) reject(this.unreachable);
    this.questions.clear();
  }
}
