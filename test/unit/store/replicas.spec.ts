import { expect, it } from '@jest/globals';
import { deferred } from '../../../lab/testbed/wait/deferred.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { Replicas } from '../../../lib/store/redis/replicas.js';
import type { Line } from '../../../lib/store/redis/line.js';
import type { Server } from '../../../lib/store/redis/servers.js';

/** A line that executes the script at once. `answer`: the reply to each WAIT. */
class FakeLine {
  state: Line['state'] = 'ready';
  waits = 0;
  readonly opened = Promise.resolve();

  constructor(private readonly answer: Promise<unknown>) {}

  send(command: string): Promise<unknown> {
    if (command !== 'WAIT') return Promise.resolve(1);
    this.waits += 1;
    return this.answer;
  }
}

it('a call on a new line does not share a WAIT that is queued on the old line', async () => {
  const lost = deferred<unknown>();
  const [old, fresh] = [new FakeLine(lost), new FakeLine(Promise.resolve(2))];
  const toOpen = [old, fresh];
  const server = { address: '', at: undefined } as Server;
  const servers = {
    lines: { silence: 1, open: () => toOpen.shift() as unknown as Line },
    of: () => server,
    known: [server],
    refresh: async () => {},
  };
  const replicas = new Replicas(servers, 1_000);
  const confirm = (id: string): Promise<number> => replicas.confirm('a', id, 1, 10_000, 'confirm');
  const first = confirm('1');
  await eventually(() => old.waits === 1);
  const queued = confirm('2');
  await new Promise(setImmediate);

  old.state = 'ended';
  expect(await confirm('3')).toBe(2);
  expect(old.waits).toBe(1);

  lost.reject(new Error('Connection is closed.'));
  expect(await Promise.all([first, queued])).toEqual([2, 2]);
});
