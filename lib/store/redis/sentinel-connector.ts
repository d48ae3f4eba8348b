import { connect as connectPlain, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectSecurely } from 'node:tls';
import { AbstractConnector, type RedisOptions } from 'ioredis';
import { isSame, type MasterAddress, type Sentinels } from './sentinels.js';

/** The address to which each socket was connected. */
const targets = new WeakMap<Socket, MasterAddress>();

/** Whether a connection leads to another server than the master that the Sentinels name now. */
export function leadsElsewhere(stream: Socket | undefined, { master }: Sentinels): boolean {
  const target = stream && targets.get(stream);
  return target !== undefined && master !== undefined && !isSame(target, master);
}

/** Creates the connector that leads an ioredis client and its duplicates to the master. */
export function connectorTo(sentinels: Sentinels): NonNullable<RedisOptions['Connector']> {
  return class extends AbstractConnector {
    private readonly options: RedisOptions;
    private attempts = 0;
    private waking = new AbortController();

    constructor(options: unknown) {
      super((options as RedisOptions).disconnectTimeout ?? 0);
      this.options = options as RedisOptions;
    }

    override disconnect(): void {
      super.disconnect();
      this.waking.abort();
    }

    override check({ role }: { role?: string }): boolean {
      return role === undefined || role === 'master';
    }

    override async connect(tell: (type: string, error: Error) => void): Promise<Socket> {
      this.connecting = true;
      this.waking = new AbortController();
      const attempt = ++this.attempts;
      const isOver = (): boolean => !this.connecting || attempt !== this.attempts;
      for (let times = 1; ; times++) {
        const address = await sentinels.find().catch((error: Error) => error);
        // ioredis expects this message.
        if (isOver()) throw new Error('Connection is closed.');
        if (!(address instanceof Error)) return this.open(address);
        const delay = this.options.sentinelRetryStrategy?.(times);
        const error = new Error(`All Sentinels are unreachable: ${address.message}`);
        if (typeof delay !== 'number') throw error;
        tell('error', error);
        await sleep(delay, undefined, { signal: this.waking.signal }).catch(() => undefined);
      }
    }

    private open(address: MasterAddress): Socket {
      const { tls, enableTLSForSentinelMode } = this.options;
      const stream =
        tls && enableTLSForSentinelMode ? connectSecurely({ ...address, ...tls }) : connectPlain({ ...address });
      targets.set(stream, address);
      stream.once('error', (error: Error) => (this.firstError = error));
      this.stream = stream;
      return stream;
    }
  };
}
