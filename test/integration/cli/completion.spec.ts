import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { COMMANDS, SHELLS } from '../../../lib/cli/command-table.js';
import { completionFor } from '../../../lib/cli/completion.js';
import { cli } from './cli.js';

const NOWHERE = 'redis://127.0.0.1:1';

/** What bash completes, if the cursor stands behind the last of the words. */
async function completed(...words: string[]): Promise<string[]> {
  const text = `${completionFor('bash')}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _nestjs_redis_locks; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const args = ['--norc', '-c', text, 'bash', 'nestjs-redis-locks', ...words];
  const { stdout, stderr } = await promisify(execFile)('bash', args);
  expect(stderr).toBe('');
  return stdout.split('\n').filter((word) => word !== '');
}

describe('completion', () => {
  it('is written without a connection', async () => {
    const results = await Promise.all(SHELLS.map((shell) => cli(NOWHERE, ['completion', shell])));
    expect(results).toEqual(SHELLS.map((shell) => ({ code: 0, stdout: completionFor(shell), stderr: '' })));
  });

  it('in bash completes commands, their options and values', async () => {
    expect(await completed('')).toEqual([...Object.keys(COMMANDS), '--help', '--version']);
    expect(await completed('in')).toEqual(['inspect']);
    expect(await completed('ls', '--s')).toEqual(['--sort']);
    expect(await completed('inspect', '--s')).toEqual([]);
    expect(await completed('-p', 'shop', 'release', 'a', '--h')).toEqual(['--hold', '--holder', '--help']);
    expect(await completed('watch', '--sort', '')).toEqual(['key', 'held', 'waiters', 'lease']);
    expect(await completed('ls', '--connection', '')).toEqual([]);
    expect(await completed('completion', 'z')).toEqual(['zsh']);
  });

  it('in bash runs nothing that was typed', async () => {
    expect(await completed('ls', '$(echo --json >&2)')).toEqual([]);
    expect(await completed('`echo ls`', 'doc')).toEqual(['doctor']);
  });

  it('in fish has a line for each command and each of its options', () => {
    const lines = completionFor('fish').split('\n');
    for (const [name, { options, subject }] of Object.entries(COMMANDS)) {
      expect(lines).toContainEqual(expect.stringMatching(new RegExp(` -a ${name}$`)));
      const own = lines.filter((each) => each.includes(`from ${name}'`));
      for (const option of subject === 'shell' ? [] : [...options, 'connection', 'json', 'help']) {
        expect(own.filter((each) => each.split(' -l ')[1]?.split(' ')[0] === option)).toHaveLength(1);
      }
    }
    expect(lines).toContainEqual(expect.stringMatching(/from ls'.* -l sort -x -a 'key held waiters lease'$/));
  });

  it('in bash is registered for the program', async () => {
    const text = `${completionFor('bash')}\ncomplete -p nestjs-redis-locks`;
    const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', text]);
    expect(stdout.trim()).toBe('complete -F _nestjs_redis_locks nestjs-redis-locks');
  });
});

describe('the help of a command', () => {
  it.each(Object.entries(COMMANDS))('%s has its options and an example', async (name, { options, example }) => {
    const { code, stdout } = await cli(NOWHERE, [name, '--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^Usage: nestjs-redis-locks ${name}\\b`));
    expect(stdout).toContain(`\n\nExample: nestjs-redis-locks ${example}\n`);
    for (const option of options) expect(stdout).toContain(`--${option}`);
    expect(stdout.includes('--sort')).toBe(options.includes('sort'));
  });
});
