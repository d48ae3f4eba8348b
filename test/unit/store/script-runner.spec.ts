import { expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { namedKeys } from '../../../lib/store/redis/script-keys.js';
import { ScriptRunner } from '../../../lib/store/redis/script-runner.js';
import { deferred, type Deferred } from '../../../testbed/wait/deferred.js';

const LIMIT = 20;

/** A client whose answers the test decides. */
function setUp() {
  const sent: Array<{ readonly command: string; readonly answer: Deferred<unknown> }> = [];
  const send = (command: string) => () => {
    const answer = deferred<unknown>();
    sent.push({ command, answer });
    return answer;
  };
  const client = { evalsha: send('evalsha'), eval: send('eval') } as unknown as Redis;
  const runner = new ScriptRunner(
    client,
    LIMIT,
    () => undefined,
    () => undefined,
  );
  const read: unknown[] = [];
  const reply = runner.run('release', namedKeys(['a']), [], (raw) => {
    read.push(raw);
    // Such as a further command, which fails as well.
    return Promise.reject(new Error('no further command'));
  });
  return { sent, read, reply };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

it('reads a reply in time', async () => {
  const { sent, read, reply } = setUp();
  sent[0]!.answer.resolve([1, 15]);
  await expect(reply).rejects.toThrow('no further command');
  expect(read).toEqual([[1, 15]]);
});

it('a reply behind the limit leads to no further command', async () => {
  const { sent, read, reply } = setUp();
  await expect(reply).rejects.toThrow('did not answer within 20 ms');
  sent[0]!.answer.resolve([1, 15]);
  await settled();
  expect(read).toEqual([]);
});

it('a script that the server did not know is not sent again behind the limit', async () => {
  const { sent, reply } = setUp();
  await expect(reply).rejects.toThrow('did not answer within 20 ms');
  sent[0]!.answer.reject(new Error('NOSCRIPT No matching script.'));
  await settled();
  expect(sent.map(({ command }) => command)).toEqual(['evalsha']);
});

it('a script that the server did not know is sent as text in time', async () => {
  const { sent, reply } = setUp();
  sent[0]!.answer.reject(new Error('NOSCRIPT No matching script.'));
  await settled();
  expect(sent.map(({ command }) => command)).toEqual(['evalsha', 'eval']);
  sent[1]!.answer.resolve(1);
  await expect(reply).rejects.toThrow('no further command');
});
