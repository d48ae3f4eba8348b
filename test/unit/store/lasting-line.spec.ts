import { LastingLine, type LastingLineOptions } from '../../../lib/store/redis/lasting-line.js';
import type { Line, LineObserver } from '../../../lib/store/redis/line.js';
import { deferred, type Deferred } from '../../../lab/testbed/wait/deferred.js';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { FakeLine } from './support.js';

/** A line whose replies the test decides. */
class TestedLine extends FakeLine {
  override state: Line['state'] = 'opening';
  override readonly opened = deferred();
  readonly sent: string[] = [];
  readonly replies: Array<Deferred<unknown>> = [];

  constructor(observer: LineObserver) {
    super(observer, (word) => {
      this.sent.push(word);
      this.replies.push(deferred<unknown>());
      return this.replies.at(-1)!;
    });
  }

  accept(): void {
    this.state = 'ready';
    this.opened.resolve();
  }

  answer(reply: unknown): void {
    this.replies.shift()!.resolve(reply);
  }

  /**
   * Ends the line, as clients do it: some reject the commands before they report the end, others after it. `ended` runs before
   * the report.
   */
  break(rejectsFirst: boolean, ended?: () => void): void {
    this.state = 'ended';
    ended?.();
    const reject = (): void => this.replies.forEach((reply) => reply.reject(new Error('Socket closed')));
    if (rejectsFirst) reject();
    this.observer.ended?.(undefined);
    if (!rejectsFirst) reject();
  }
}

const opened: LastingLine[] = [];
afterEach(() => opened.splice(0).forEach((lasting) => lasting.close()));

function setUp(options: LastingLineOptions = { resends: true }, silence = 60_000) {
  const lines: TestedLine[] = [];
  const open = (observer: LineObserver): Line => {
    const line = new TestedLine(observer);
    lines.push(line);
    return line;
  };
  const lasting = new LastingLine({ silence, open }, {}, options);
  opened.push(lasting);
  lasting.open();
  const ready = async (count: number): Promise<TestedLine> => {
    await eventually(() => lines.length === count);
    lines[count - 1]!.accept();
    await eventually(() => lasting.isReady);
    return lines[count - 1]!;
  };
  return { lasting, lines, ready };
}

it.each([true, false])(
  'commands without a reply are sent again on the next line, in their order (rejects first: %j)',
  async (rejectsFirst) => {
    const { lasting, ready } = setUp();
    const first = lasting.send('A');
    const line = await ready(1);
    const [second, third] = [lasting.send('B'), lasting.send('C')];
    line.answer(1);
    expect(await first).toBe(1);
    const later: Array<Promise<unknown>> = [];
    line.break(rejectsFirst, () => later.push(lasting.send('D')));
    later.push(lasting.send('E'));
    const next = await ready(2);
    for (const reply of [2, 3, 4, 5]) next.answer(reply);
    const replies = await Promise.all([second, third, ...later]);
    expect(next.sent).toEqual(['B', 'C', 'D', 'E']);
    expect(replies).toEqual([2, 3, 4, 5]);
  },
);

it.each([
  ['a refusal is passed on, and a command is sent once', 'ERR no', 1],
  ['a server that has become a replica is left', "READONLY You can't write against a read only replica.", 2],
])('%s', async (_, refusal, count) => {
  const { lasting, lines, ready } = setUp();
  const line = await ready(1);
  const refused = lasting.send('A');
  line.replies[0]!.reject(new Error(refusal));
  await expect(refused).rejects.toThrow(refusal);
  expect(line.sent).toEqual(['A']);
  await ready(count);
  expect(lines).toHaveLength(count);
});

it('commands fail with their line if they are not sent again, and when the connection is closed', async () => {
  const { lasting, lines, ready } = setUp({});
  const line = await ready(1);
  const lost = lasting.send('A');
  line.break(false);
  await expect(lost).rejects.toThrow('Connection is closed.');
  const opening = lasting.send('B');
  await eventually(() => lines.length === 2);
  lines[1]!.break(false);
  await expect(opening).rejects.toThrow('Connection is closed.');
  lasting.close();
  await expect(lasting.send('C')).rejects.toThrow('Connection is closed.');

  const other = setUp();
  const waiting = other.lasting.send('D');
  other.lasting.close();
  await expect(waiting).rejects.toThrow('Connection is closed.');
});

it('a silent line is replaced if a command waits for its reply, and an idle one is not', async () => {
  const { lasting, lines, ready } = setUp({ resends: true }, 50);
  await ready(1);
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(lines).toHaveLength(1);
  const asked = lasting.send('A');
  // If the line is not replaced.
  asked.catch(() => undefined);
  const next = await ready(2);
  next.answer(1);
  expect(await asked).toBe(1);
});
