import { deferred } from '../../../lab/testbed/wait/deferred.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { Replicas } from '../../../lib/store/redis/replicas.js';
import { FakeLine, serverWith } from './support.js';

it('a call on a new line does not share a WAIT that is queued on the old line', async () => {
  const lost = deferred<unknown>();
  let waits = 0;
  const line = (answer: Promise<unknown>): FakeLine =>
    new FakeLine({}, async (command) => {
      if (command !== 'WAIT') return 1;
      waits += 1;
      return answer;
    });
  const old = line(lost);
  const replicas = new Replicas(serverWith(old, line(Promise.resolve(2))), 1_000);
  const confirm = (id: string): Promise<number> =>
    replicas.confirm({ key: 'a', id, min: 1, timeout: 10_000 }, 'lock:state:{a}', 'confirm');
  const first = confirm('1');
  await eventually(() => waits === 1);
  const queued = confirm('2');
  await new Promise(setImmediate);

  old.state = 'ended';
  expect(await confirm('3')).toBe(2);
  // One on each line.
  expect(waits).toBe(2);

  lost.reject(new Error('Connection is closed.'));
  expect(await Promise.all([first, queued])).toEqual([2, 2]);
});
