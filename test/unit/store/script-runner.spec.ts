import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { systemClock } from '../../../lib/common/clock.js';
import { ConnectionHealth } from '../../../lib/store/redis/connection-health.js';
import type { Commands } from '../../../lib/store/redis/line.js';
import { namedKeys } from '../../../lib/store/redis/script-call.js';
import { UNDOUBTED } from '../../../lib/store/redis/mastership.js';
import { ScriptRunner } from '../../../lib/store/redis/script-runner.js';
import type { ScriptName } from '../../../lib/store/redis/scripts.generated.js';
import { SILENT, settled, deferred, type Deferred } from '../engine/support.js';

const LIMIT = 20;
const CONNECTION = { health: new ConnectionHealth(SILENT, LIMIT), doubt: () => undefined };

/** A client whose answers the test decides. `scripts`: each is called once. */
function setUp(...scripts: ScriptName[]) {
  const sent: Array<{ readonly command: string; readonly answer: Deferred<unknown> }> = [];
  const client: Commands = {
    run: (script) => {
      const answer = deferred<unknown>();
      sent.push({ command: script.command, answer });
      answer.then(
        (reply) => script.answered(reply),
        (error: Error) => script.failed(error),
      );
    },
    send: () => Promise.reject(new Error('no other command is sent')),
  };
  const runner = new ScriptRunner({ ...CONNECTION, commands: client }, LIMIT);
  const read: unknown[] = [];
  const replies = (scripts.length > 0 ? scripts : (['acquire'] as const)).map((script) =>
    runner.run(script, namedKeys(['a']), [], (raw) => {
      read.push(raw);
      // Such as a further command, which fails as well.
      return Promise.reject(new Error('no further command'));
    }),
  );
  for (const reply of replies) reply.catch(() => undefined);
  const isUnknown = async (...which: number[]): Promise<void> => {
    for (const i of which) sent[i]!.answer.reject(new Error('NOSCRIPT No matching script.'));
    await settled();
  };
  return { sent, read, reply: replies[0]!, isUnknown, commands: () => sent.map(({ command }) => command) };
}

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

describe('a reply that took longer than a master may be silent', () => {
  /** The master has been replaced, and the new one is asked next. */
  async function late(
    isMaster: boolean,
    takes = () => sleep(UNDOUBTED + 50, 'old'),
  ): Promise<{ sent: string[]; asked: unknown[]; reply: Promise<unknown> }> {
    const sent: string[] = [];
    const answers: Array<Promise<unknown>> = [takes(), Promise.resolve('new')];
    // The command reaches another master the second time.
    const run: Commands['run'] = (script) => {
      script.master = sent.length === 0 ? 'old' : 'new';
      void answers[sent.push('evalsha') - 1]!.then((reply) => script.answered(reply));
    };
    const confirmations = [Promise.resolve(isMaster), undefined];
    const asked: unknown[] = [];
    const masters = {
      isAsking: false,
      confirm: (_name: string, address?: string) => {
        asked.push(address);
        return confirmations.shift();
      },
    };
    const commands: Commands = { run, send: () => Promise.reject(new Error('not used')) };
    const runner = new ScriptRunner({ ...CONNECTION, commands, masters }, 60_000);
    return { sent, asked, reply: runner.run('release', namedKeys(['a']), [], (raw) => raw) };
  }

  it.each([
    ['counts if the master is confirmed', true, ['old']],
    ['does not count if the master is not confirmed: the command is sent again', false, ['old', 'new']],
  ])('%s', async (_, isMaster, masters) => {
    const { sent, asked, reply } = await late(isMaster);
    expect(await reply).toBe(masters.at(-1));
    expect(sent).toHaveLength(masters.length);
    expect(asked).toEqual(masters);
  });

  it('is doubted after a suspension, which performance.now() does not count', async () => {
    const now = jest.spyOn(systemClock, 'now').mockReturnValue(1_000);
    const resumed = async (): Promise<string> => {
      await settled();
      now.mockReturnValue(1_000 + 2 * UNDOUBTED);
      return 'old';
    };
    const { asked, reply } = await late(false, resumed);
    expect(await reply).toBe('new');
    expect(asked).toEqual(['old', 'new']);
    now.mockRestore();
  });
});

describe('a script that the server did not know', () => {
  it('is sent as text in time', async () => {
    const { sent, reply, isUnknown, commands } = setUp();
    await isUnknown(0);
    expect(commands()).toEqual(['evalsha', 'eval']);
    sent[1]!.answer.resolve(1);
    await expect(reply).rejects.toThrow('no further command');
  });

  it.each<[string, ScriptName, string[]]>([
    ['is not sent again', 'acquire', ['evalsha']],
    ['is sent as text even then, since it releases something', 'release', ['evalsha', 'eval']],
  ])('behind the limit %s: %s', async (_, script, sent) => {
    const { reply, isUnknown, commands } = setUp(script);
    await expect(reply).rejects.toThrow('did not answer within 20 ms');
    await isUnknown(0);
    expect(commands()).toEqual(sent);
  });

  it('is sent as text once, and by its hash behind that', async () => {
    const { sent, isUnknown, commands } = setUp('acquire', 'acquire', 'renew');
    await isUnknown(0, 1, 2);
    expect(commands().slice(3)).toEqual(['eval', 'evalsha', 'eval']);
    // The text went to another server.
    await isUnknown(4);
    expect(commands().slice(6)).toEqual(['eval']);
    for (const { answer } of sent) answer.resolve(1);
  });
});
