import { Redis } from 'ioredis';

/** The ioredis client of an application, which passes it to the module and uses it itself. */
export class OwnClient {
  /** @param {string} url */
  constructor(url) {
    this.client = new Redis(url, { maxRetriesPerRequest: 0 });
    this.client.on('error', () => undefined);
  }

  /** @param {'multi' | 'select' | 'end'} how `end`: as if the client had not been used */
  async use(how) {
    const { client } = this;
    if (how === 'multi') await Promise.all([client.call('MULTI'), client.set('application', 1)]);
    else if (how === 'select') await client.select(1);
    else await Promise.allSettled([client.call('DISCARD'), client.select(0)]);
  }

  close() {
    this.client.disconnect();
  }
}

/** The same with a client of node-redis. */
export class OwnNodeRedis {
  /** @param {ReturnType<typeof import('redis').createClient>} client */
  constructor(client) {
    this.client = client.on('error', () => undefined);
    void client.connect().catch(() => undefined);
  }

  /** @param {'multi' | 'select' | 'end'} how */
  async use(how) {
    const { client } = this;
    const send = (...words) => client.sendCommand(words);
    if (how === 'multi') await Promise.all([send('MULTI'), send('SET', 'application', '1')]);
    else if (how === 'select') await client.select(1);
    else await Promise.allSettled([send('DISCARD'), client.select(0)]);
  }

  close() {
    if (this.client.isOpen) this.client.destroy();
  }
}
