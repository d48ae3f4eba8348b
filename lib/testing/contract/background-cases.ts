import { strict as assert } from 'node:assert';
import type { LockHandle } from '../../service/handles/lock-handle.js';
import type { CaseList } from './stage.js';

const BACKGROUND = { release: 'background' } as const;

/** Calls that do not wait for the answer to their release. */
export const BACKGROUND_CASES: CaseList = {
  'a try of the same client never meets a release in the background': async (stage) => {
    const client = await stage.client();
    const key = stage.key();
    const modes = [{}, { kind: 'read' }, { permits: 1 }, { owner: 'me' }, { fair: true }] as const;
    for (let round = 0; round < 10; round++) {
      for (const mode of modes) {
        // Redlock has no permits.
        const made = await stage.outcome(client.run(key, () => 'made', { ...mode, ...BACKGROUND }).catch(codeOf));
        if (made === 'LOCK_CONFIG') continue;
        assert.equal(made, 'made');
        if (round % 2 === 1) await stage.sleep(1);
        const lock = await stage.outcome(() => client.tryAcquire(key));
        assert.notEqual(lock, null);
        assert.equal(await stage.outcome(lock!.release()), true);
      }
    }
  },

  'calls that end in the background exclude each other, and their tokens grow': async (stage) => {
    const clients = await stage.clientList(3, { defaults: { ...BACKGROUND, waitTimeout: Infinity } });
    const key = stage.key();
    const tokens: number[] = [];
    let inside = 0;
    const work = async ({ fencingToken }: LockHandle): Promise<void> => {
      inside += 1;
      assert.equal(inside, 1);
      tokens.push(fencingToken);
      await Promise.resolve();
      inside -= 1;
    };
    const callers = [...clients, ...clients].map(async (client) => {
      for (let call = 0; call < 20; call++) await client.run(key, work);
    });
    await stage.outcome(Promise.all(callers));
    assert.equal(tokens.length, 120);
    assert.deepEqual(
      tokens,
      [...new Set(tokens)].sort((a, b) => a - b),
    );
  },
};

const codeOf = ({ code }: { code?: string }): string | undefined => code;
