import { describe, expect, it } from '@jest/globals';
import { RespProxy } from '../../../lab/testbed/proxies/resp-proxy.mjs';
import { RedlockBench } from './support.js';

const bench = new RedlockBench(3);

describe('a master whose replies get lost', () => {
  it('does not duplicate, leak or delay a lock', async () => {
    const proxy = bench.endLater(await RespProxy.start(bench.masters[0]!));
    const connection = [proxy.url, ...bench.urls.slice(1)];
    const services = await bench.serviceList(3, { connection, commandTimeout: 3_000 });
    let inside = 0;
    for (let n = 1; n <= 8; n += 1) {
      proxy.cutAfterCommand({ names: ['evalsha', 'eval'], nth: n });
      await Promise.all(
        services.map((service) =>
          service.run('a', async () => {
            expect(++inside).toBe(1);
            await new Promise((resolve) => setTimeout(resolve, 1));
            inside -= 1;
          }),
        ),
      );
    }
    await bench.untilNothingIsLeft();
  });
});
