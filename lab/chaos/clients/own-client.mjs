import { Redis } from 'ioredis';

/** The client of an application, which passes it to the module and uses it itself. */
class OwnClient {
  #send;

  constructor(client, send, close) {
    this.client = client.on('error', () => undefined);
    this.#send = send;
    this.close = close;
  }

  /** @param {'multi' | 'select' | 'end'} how `end`: as if the client had not been used */
  async use(how) {
    const send = this.#send;
    if (how === 'multi') await Promise.all([send('MULTI'), send('SET', 'application', '1')]);
    else if (how === 'select') await this.client.select(1);
    else await Promise.allSettled([send('DISCARD'), this.client.select(0)]);
  }
}

/** @param {string} url */
export function ownIoredis(url) {
  const client = new Redis(url, { maxRetriesPerRequest: 0 });
  const select = client.select.bind(client);
  // After a reconnect, ioredis selects the database again, and leaves a failure of that unhandled.
  client.select = (...args) => {
    const selected = select(...args);
    selected.catch(() => undefined);
    return selected;
  };
  const send = (...words) => client.call(...words);
  return new OwnClient(client, send, () => client.disconnect());
}

/** @param {ReturnType<typeof import('redis').createClient>} client */
export function ownNodeRedis(client) {
  const send = (...words) => client.sendCommand(words);
  const own = new OwnClient(client, send, () => client.isOpen && client.destroy());
  void client.connect().catch(() => undefined);
  return own;
}
