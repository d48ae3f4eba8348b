import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** ms that a run is given; each takes a few seconds on a machine that has nothing else to do. */
const TIME = 240_000;
const ROOT = new URL('../../', import.meta.url);
const program = fileURLToPath(new URL('lab/simulation/run.mjs', ROOT));

/** `npm run simulation -- …`, and its output. Its counts do not count as tests of this run. */
function simulation(...args: readonly string[]): Promise<{ readonly code: number | null; readonly said: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], {
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: TIME,
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += String(text)));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, said }));
  });
}

/** The first thing that `pattern` finds. */
function find(said: string, pattern: RegExp): string {
  const found = pattern.exec(said)?.[1];
  if (found === undefined) throw new Error(`no ${String(pattern)} in:\n${said}`);
  return found;
}

const count = (said: string, pattern: RegExp): number => Number(find(said, pattern));

describe('simulated schedules of callers and faults', () => {
  it(
    'end with a result for every caller, without overlapping sections, and equally on any number of workers',
    async () => {
      const [one, two] = await Promise.all([
        simulation('--from', '601', '--seeds', '120', '--workers', '1'),
        simulation('--from', '601', '--seeds', '120', '--workers', '2'),
      ]);
      const { code, said } = one;
      expect({ code, said }).toMatchObject({ code: 0, said: expect.stringContaining('nothing was found') });
      const digest = /digest of all events: (\w+)/;
      expect(find(said, digest)).toBe(find(two.said, digest));
      expect(find(said, digest)).not.toBe('00000000');
      // The run covered enough.
      expect(count(said, /(\d+) got their locks/)).toBeGreaterThan(1_000);
      expect(count(said, /(\d+) of them as members of a batch/)).toBeGreaterThan(100);
      expect(count(said, /(\d+) faults/)).toBeGreaterThan(25);
      expect(count(said, /(\d+) at a replaced master/)).toBeGreaterThan(25);
      expect(count(said, /(\d+) terms of leaders/)).toBeGreaterThan(50);
      // A good part of them over several masters, most of which were served.
      expect(count(said, /(\d+) of the runs over several masters/)).toBeGreaterThan(25);
      const visits = count(said, /of (\d+) visits got their locks/);
      expect(visits).toBeGreaterThan(250);
      expect(count(said, /(\d+) of \d+ visits got their locks/)).toBeGreaterThan(visits / 2);
      expect(count(said, /masters restored (\d+) votes/)).toBeGreaterThan(0);
      for (const end of ['timed out', 'failed with the store', 'were aborted', 'lost their lock', 'process crashed'])
        expect(count(said, new RegExp(`(\\d+) [a-z ]*${end}`))).toBeGreaterThan(0);
    },
    2 * TIME,
  );

  it(
    'are reduced if they fail, and fail again at the same step',
    async () => {
      const mutation = ['--mutation', 'long-validity'];
      const { code, said } = await simulation('--from', '2', '--seeds', '1', '--workers', '1', ...mutation);
      expect({ code, said }).toMatchObject({ code: 1, said: expect.stringContaining('validity: ') });
      const path = find(said, /--seed 2 --path (\S+)/);
      const place = /fails at (step \d+, after [\d.]+ ms)/;
      const smaller = find(said, /after \d+ reductions of the schedule, it fails at (step \d+, after [\d.]+ ms)/);
      const [whole, small, sound] = await Promise.all([
        simulation('--seed', '2', ...mutation),
        simulation('--seed', '2', '--path', path, ...mutation),
        simulation('--seed', '2', '--path', path),
      ]);
      expect([whole.code, small.code, sound.code]).toEqual([1, 1, 0]);
      expect(find(whole.said, place)).toBe(find(said, place));
      expect(find(small.said, place)).toBe(smaller);
      const stepOf = (text: string): number => count(text, /step (\d+)/);
      expect(stepOf(smaller)).toBeLessThan(stepOf(find(said, place)));
    },
    2 * TIME,
  );

  it.each([
    [
      'a server cannot execute a script',
      'throwing-server',
      /^seed 1 fails at step \d+, after [\d.]+ ms\n {2}.*a script failed/m,
    ],
    ['a step throws', 'throwing-step', /^seed 1 fails at step \d+, after [\d.]+ ms\n {2}.*a step failed/m],
  ])(
    'fail with their seed and the reason if %s',
    async (_what, mutation, reason) => {
      const { code, said } = await simulation('--seeds', '1', '--workers', '1', '--mutation', mutation);
      expect({ code, said }).toMatchObject({ code: 1, said: expect.stringMatching(reason) });
    },
    TIME,
  );
});
