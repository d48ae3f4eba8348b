import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { eventually } from '../../../lab/testbed/wait/eventually.mjs';
import { startWorker, type WorkerProcess } from '../../../lab/testbed/workers/processes.mjs';

const WORKER = new URL('../../../lab/testbed/workers/lock-worker.mjs', import.meta.url);

describe('WorkerProcess', () => {
  let worker: WorkerProcess;

  beforeEach(async () => {
    worker = await startWorker(WORKER);
  });

  afterEach(async () => {
    await worker.kill();
  });

  it('leaves no call pending when it is killed', async () => {
    worker.pause();
    const call = expect(worker.call('ping')).rejects.toThrow('lock-worker.mjs ended (SIGKILL)');
    expect(await worker.kill()).toEqual({ code: null, signal: 'SIGKILL' });
    await call;
    await expect(worker.call('ping')).rejects.toThrow('has ended');
  });

  it('ends with the process that started it, even if it is stalled then', async () => {
    const guard = new URL('../../../lab/testbed/servers/guard.mjs', import.meta.url);
    const script = `
      import { fork } from 'node:child_process';
      import { once } from 'node:events';
      import { mkdtempSync } from 'node:fs';
      import { tmpdir } from 'node:os';
      import { Guard } from ${JSON.stringify(guard.href)};
      const options = { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'], detached: true };
      const directories = [];
      // The second one ends, and takes nothing with it.
      for (const end of [undefined, 'SIGKILL', undefined]) {
        const directory = mkdtempSync(tmpdir() + "/it's guarded-");
        directories.push(directory);
        const guard = new Guard(directory);
        const child = fork(${JSON.stringify(fileURLToPath(WORKER))}, options);
        guard.watch('kill -9 ' + child.pid);
        await once(child, 'message');
        child.kill(end ?? 'SIGSTOP');
        if (end === undefined) continue;
        await once(child, 'exit');
        guard.release();
        await guard.dispose();
      }
      console.log(JSON.stringify(directories));`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const directories = JSON.parse(String(line)) as string[];
    expect(directories.map((directory) => existsSync(directory))).toEqual([true, false, true]);
    parent.kill('SIGKILL');
    // The workers have inherited the other end of this pipe.
    await once(parent.stdout, 'end');
    await eventually(() => !directories.some((directory) => existsSync(directory)));
  });
});
