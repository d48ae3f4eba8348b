import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
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
      // Without the indentation of a text of several lines in this file.
      writeFileSync(join(directory, file), text.replaceAll(/^ {8}/gm, ''));
    }
    return assembleScript(directory, 'main.lua');
  };

  it('puts each part once in front of the first statement that needs it', () => {
    const script = assemble({
      'main.lua': '-- what it does\n--- @include "shared/a"\n--- @include "shared/b"\nlocal m = 1\nreturn a + b + m\n',
      'shared/a.lua': '--- @include "shared/b"\nlocal a = b\n',
      'shared/b.lua': 'local b = 1\n',
    });
    expect(script).toBe('local m = 1\nlocal b = 1\nlocal a = b\nreturn a + b + m');
  });

  it('puts a function into the innermost block around all lines that use it, and apart from others of its file', () => {
    const script = assemble({
      'main.lua': `--- @include "shared/a"
        if one then
          two()
        elseif a() then
          if three then
            return b() +
              b()
          end
        end`,
      'shared/a.lua': 'local function a()\n  return 1\nend\nlocal function b()\n  return 2\nend\n',
    });
    expect(script.split('\n').map((line) => line.trim())).toEqual([
      ...['local function a()', 'return 1', 'end', 'if one then', 'two()', 'elseif a() then', 'if three then'],
      ...['local function b()', 'return 2', 'end', 'return b() +', 'b()', 'end', 'end'],
    ]);
  });

  it('puts nothing into a loop, and no variable into a function', () => {
    const script = assemble({
      'main.lua': `--- @include "shared/a"
        local function f()
          for i = 1, 2 do
            one(g(), now)
          end
        end
        return f()`,
      'shared/a.lua': "local now = redis.call('TIME')\nlocal function g()\n  return 1\nend\n",
    });
    expect(script.split('\n')).toEqual([
      ...["local now = redis.call('TIME')", 'local function f()', 'local function g()', 'return 1', 'end'],
      ...['for i = 1, 2 do', 'one(g(), now)', 'end', 'end', 'return f()'],
    ]);
  });

  it('writes constants and keys in place of their names', () => {
    const script = assemble({
      'main.lua': "--- @include \"shared/a\"\nreturn redis.call('GET', STATE, MOST, 'MOST', x.MOST)",
      'shared/a.lua': 'local STATE = KEYS[1] -- what it is\nlocal MOST = 7\n',
    });
    expect(script).toBe("return redis.call('GET', KEYS[1], 7, 'MOST', x.MOST)");
  });

  const onItsOwn = 'lua/main.lua:2: write --- @include "shared/name" on a line of its own, at the head';

  it.each([
    ['--- @include "shared/c"', 'lua/main.lua includes "shared/c.lua", but there is no lua/shared/c.lua'],
    ['--- @include "a"', 'main.lua includes a.lua includes b.lua includes a.lua: a circle'],
    ['-- what it does\n-- @include "shared/a"', onItsOwn],
    ['-- what it does\n--- @include shared/a', onItsOwn],
    ['-- what it does\n--- @include "shared/a" -- why', onItsOwn],
    ['local a\n--- @include "shared/a"', onItsOwn],
  ])('refuses %j', (main, why) => {
    const parts = { 'shared/a.lua': 'local b = 1', 'a.lua': '--- @include "b"', 'b.lua': '--- @include "a"' };
    expect(() => assemble({ 'main.lua': main, ...parts })).toThrow(why);
  });
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
