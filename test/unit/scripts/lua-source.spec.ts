import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { assembleScript, stripComments } from '../../../scripts/lib/lua-source.mjs';

describe('assembleScript', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'locks-lua-'));
  });

  afterEach(() => rmSync(directory, { recursive: true }));

  const assemble = (files: Record<string, string>): string => {
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(directory, file)), { recursive: true });
      writeFileSync(join(directory, file), text);
    }
    return assembleScript(directory, 'main.lua');
  };

  it('puts shared parts where they are first included, once', () => {
    const script = assemble({
      'main.lua': '-- what it does\n--- @include "shared/a"\nlocal m = 1\n--- @include "shared/b"\nreturn m\n',
      'shared/a.lua': '--- @include "shared/b"\nlocal a = 1\n',
      'shared/b.lua': 'local b = 1\n',
    });
    expect(script).toBe('local b = 1\nlocal a = 1\nlocal m = 1\nreturn m');
  });

  it('forgets at the end of a block what was included in it', () => {
    const script = assemble({
      'main.lua': [
        'if one then',
        '  --- @include "shared/a"',
        '  --- @include "shared/b"',
        '  return a',
        'end',
        '--- @include "shared/b"',
        'return b',
      ].join('\n'),
      'shared/a.lua': '--- @include "shared/b"\nlocal a = b\n',
      'shared/b.lua': 'local b = 1\n',
    });
    expect(script).toBe('if one then\nlocal b = 1\nlocal a = b\nreturn a\nend\nlocal b = 1\nreturn b');
  });

  it('includes nothing in a block that is known around it', () => {
    const script = assemble({
      'main.lua': '--- @include "shared/b"\nlocal function f()\n  --- @include "shared/b"\n  return b\nend\nreturn f()',
      'shared/b.lua': 'local b = 1\n',
    });
    expect(script).toBe('local b = 1\nlocal function f()\nreturn b\nend\nreturn f()');
  });

  it('writes constants and keys in place of their names', () => {
    const script = assemble({
      'main.lua': "--- @include \"shared/a\"\nreturn redis.call('GET', STATE, MOST, 'MOST', x.MOST)",
      'shared/a.lua': 'local STATE = KEYS[1] -- what it is\nlocal MOST = 7\n',
    });
    expect(script).toBe("return redis.call('GET', KEYS[1], 7, 'MOST', x.MOST)");
  });

  it('names the file that includes a missing part', () => {
    expect(() => assemble({ 'main.lua': '--- @include "shared/a"' })).toThrow(
      'lua/main.lua includes "shared/a.lua", but there is no lua/shared/a.lua',
    );
  });

  it('refuses cyclic includes', () => {
    const files = { 'main.lua': '--- @include "a"', 'a.lua': '--- @include "b"', 'b.lua': '--- @include "a"' };
    expect(() => assemble(files)).toThrow('main.lua includes a.lua includes b.lua includes a.lua: a circle');
  });

  it.each(['-- @include "shared/a"', '--- @include shared/a', '--- @include "shared/a" -- why'])(
    'refuses %s',
    (line) => {
      expect(() => assemble({ 'main.lua': `local a\n${line}` })).toThrow('lua/main.lua:2: write --- @include');
    },
  );
});

describe('stripComments', () => {
  it.each([
    ['whole lines', '-- one\n  -- two\nreturn 1\n', 'return 1'],
    ['what follows code', 'local a = 1 -- one\nreturn a--two', 'local a = 1\nreturn a'],
    ['long comments', 'local a --[[ one\n two ]] = 1 --[==[ ]] ]==]\nreturn a', 'local a   = 1\nreturn a'],
    ['blank lines', '\n\nlocal a\n\t \nreturn a\n\n', 'local a\nreturn a'],
  ])('removes %s', (_, source, stripped) => {
    expect(stripComments(source)).toBe(stripped);
  });

  it.each([
    `return '-- no comment'`,
    `return "it's -- no comment"`,
    `return 'it\\'s -- no comment'`,
    `return [[ -- no comment\n\n -- here neither ]]`,
    `return [==[ ]] -- no comment ]==]`,
    `return a[b[1]] - -1`,
  ])('leaves %j alone', (source) => {
    expect(stripComments(source)).toBe(source);
  });
});
