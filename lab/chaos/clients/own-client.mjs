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
