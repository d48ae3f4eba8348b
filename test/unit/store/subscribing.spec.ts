import type { Command } from '../../../lib/store/redis/line.js';
import type { Connection } from '../../../lib/store/redis/redis-connection.js';
import { RedisStore } from '../../../lib/store/redis/redis-store.js';
import { ScriptRunner } from '../../../lib/store/redis/script-runner.js';
import { REPLY_CODES } from '../../../lib/store/protocol.generated.js';
import { REQUEST, SILENT } from '../engine/support.js';

it('a request asks once more when its channel is subscribed to, even if that subscription has ended again', async () => {
  let asked = 0;
  const connection = {
    commands: {
      run: (command: Command) => {
        asked += 1;
        // As long as this, it asks without end.
        const reply = asked === 10 ? [REPLY_CODES.LEFT, 1, -1] : [REPLY_CODES.BUSY, 1, -1, 500, 0, 'other:1'];
        queueMicrotask(() => command.answered(reply));
      },
      send: async () => 'OK',
    },
    subscriptions: { subscription: () => undefined, subscribeTo: async () => true },
    nodes: () => [],
  } as unknown as Connection;
  const scripts = new ScriptRunner(connection, 5_000);
  const store = new RedisStore(
    { connection: 'redis://127.0.0.1:1', keyPrefix: 'lock', commandTimeout: 5_000 },
    SILENT,
    { connect: () => Object.assign(connection, { scripts }) },
  );
  const reply = await store.acquire(REQUEST);
  expect([reply.outcome, asked]).toEqual(['busy', 2]);
  scripts.close();
});
