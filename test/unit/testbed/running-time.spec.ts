import { setTimeout as sleep } from 'node:timers/promises';
import { RunningTime } from '../../../lab/testbed/wait/running-time.mjs';

/** As a process that waits for its turn: time goes by, and it computes nothing. */
const stand = (ms: number): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

function compute(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe('running time', () => {
  it('excludes the time in which the process was not scheduled', async () => {
    const time = new RunningTime();
    stand(300);
    await sleep(20);
    const { took, ran } = time.stop();
    expect(took).toBeGreaterThanOrEqual(319);
    expect(took - ran).toBeGreaterThan(250);
    expect(took - ran).toBeLessThan(took);
  });

  it('counts the computing time of the process', async () => {
    const time = new RunningTime();
    const before = process.cpuUsage();
    compute(200);
    const { user, system } = process.cpuUsage(before);
    await sleep(20);
    expect(time.stop().ran).toBeGreaterThan((0.9 * (user + system)) / 1_000);
  });
});
