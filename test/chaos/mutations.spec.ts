import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { MUTATION, MUTATION_VARIABLE, OF_CHAOS } from '../../lab/mutations/list.mjs';

const LIBRARY = fileURLToPath(new URL('../../lab/chaos/clients/library.mjs', import.meta.url));

it.each(['', ...OF_CHAOS.slice(0, 2).map(({ name }) => name)])(
  'a client loads the library with the mutation %j, and says so',
  async (name) => {
    const env = { ...process.env, NODE_OPTIONS: '', [MUTATION_VARIABLE]: name };
    const script = `await import(process.argv[1]); console.log(globalThis.${MUTATION} ?? '')`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, LIBRARY], {
      env,
    });
    expect(stdout.trim()).toBe(name);
  },
);
