import { Redis } from 'ioredis';

/** Observes the server from outside of the measurement. */
export class ServerView {
  #redis;

  constructor({ host, port }) {
    this.#redis = new Redis({ host, port });
  }

  clear() {
    return this.#redis.flushall();
  }

  /** Seconds of CPU that the server has used, and calls that it has executed, including calls within scripts. */
  async usage() {
    const info = await this.#redis.info();
    const read = (name) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1]);
    return {
      cpu: read('used_cpu_user') + read('used_cpu_sys'),
      calls: read('total_commands_processed'),
      version: /^(?:redis|valkey)_version:(\S+)/m.exec(info)?.[1],
    };
  }

  close() {
    this.#redis.disconnect();
  }
}
