import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../testbed/wait/eventually.mjs';
import { now } from '../../../testbed/history/history.js';
import { startWorker, type WorkerProcess } from '../../../testbed/workers/processes.mjs';

const WORKER = new URL('../../../testbed/workers/lock-worker.mjs', import.meta.url);

describe('WorkerProcess', () => {
  let worker: WorkerProcess;

  beforeEach(async () => {
    worker = await startWorker(WORKER);
  });

  afterEach(async () => {
    await worker.kill();
  });

  it('answers calls', async () => {
    expect(await worker.call('ping')).toBe('pong');
    await expect(worker.call('nonsense')).rejects.toThrow('no method "nonsense"');
  });

  it('shares the clock of the test', async () => {
    const before = now();
    const theirs = await worker.call<bigint>('now');
    expect(theirs > before && theirs < now()).toBe(true);
  });

  it('stalls and resumes', async () => {
    worker.pause();
    let isAnswered = false;
    const answer = worker.call('ping').then(() => (isAnswered = true));
    await expect(eventually(() => isAnswered, { within: 50 })).rejects.toThrow();
    worker.resume();
    await answer;
  });

  it('leaves no call pending when it is killed', async () => {
    worker.pause();
    const call = expect(worker.call('ping')).rejects.toThrow('lock-worker.mjs ended (SIGKILL)');
    expect(await worker.kill()).toEqual({ code: null, signal: 'SIGKILL' });
    await call;
    await expect(worker.call('ping')).rejects.toThrow('has ended');
  });

  it('reports a missing message', async () => {
    await expect(worker.next(() => true, 20)).rejects.toThrow('within 20 ms');
  });

  it('ends with the process that started it, even if it is stalled then', async () => {
    const guard = new URL('../../../testbed/servers/guard.mjs', import.meta.url);
    const script = `
      import { fork } from 'node:child_process';
      import { Guard } from ${JSON.stringify(guard.href)};
      const options = { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'], detached: true };
      const child = fork(${JSON.stringify(fileURLToPath(WORKER))}, options);
      new Guard().watch('kill -9 ' + child.pid);
      child.once('message', () => { child.kill('SIGSTOP'); console.log('stalled'); });`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(parent.stdout, 'data');
    parent.kill('SIGKILL');
    // The worker has inherited the other end of this pipe.
    await once(parent.stdout, 'end');
  });
});
