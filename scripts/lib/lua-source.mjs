import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StepFailed } from './run.mjs';

const INCLUDE_LINE = /^\s*---?\s*@include\b/;
const INCLUDE = /^\s*--- @include "([\w./-]+)"\s*$/;
const EXPORT_LINE = /^\s*---?\s*@export\b/;
const EXPORT = /^--- @export$/;
const CONSTANTS = /^local ([A-Z][A-Z\d_]*(?:, [A-Z][A-Z\d_]*)*) = (\d+(?:, \d+)*)$/;
/** Constants that are numbers, plain strings or keys. */
const LITERALS =
  /^local ([A-Z][A-Z\d_]*(?:, [A-Z][A-Z\d_]*)*) = ((?:\d+|'[^'\\,]*'|KEYS\[\d+\])(?:, (?:\d+|'[^'\\,]*'))*)$/;
const STRING_OR_CONSTANT = /"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*'|(?<![.\w])[A-Z][A-Z\d_]*\b/g;
const KEY = /^local ([A-Z]+) = KEYS\[(\d+)\]/;

/**
 * A script as it is sent to Redis: included parts in their places, without comments, blank lines and indentation.
 * @param {string} directory
 * @param {string} file
 * @returns {string}
 */
export function assembleScript(directory, file) {
  return scriptParts(directory, file)
    .map(({ text }) => text)
    .join('\n');
}

/**
 * The pieces of a script in their order, each with a name that stands for its text in every script. A file that is included
 * appears where the script first needs it. A file with includes in its middle has several pieces. What an indented line
 * includes is known down to the end of its block only: Redis makes all functions of a script anew with each call, and those
 * of a block only if the script gets there.
 * @param {string} directory
 * @param {string} file
 * @returns {Array<{ readonly name: string, readonly text: string }>}
 */
export function scriptParts(directory, file) {
  return inlineConstants(resolveIncludes(directory, file, { done: new Set(), chain: [] }));
}

/**
 * Removes indentation, and writes the values of constants in place of their names. Redis makes all functions of a script
 * anew with each call, and Lua searches a list for each outer variable that a function uses: the names cost a quarter of a
 * script's time.
 * @param {Array<{ readonly name: string, readonly text: string }>} parts
 */
function inlineConstants(parts) {
  /** @type {Map<string, string>} */
  const values = new Map();
  for (const { text } of parts) {
    for (const line of text.split('\n')) {
      const [, names, literals] = LITERALS.exec(line) ?? [];
      names?.split(', ').forEach((name, i) => values.set(name, literals.split(', ')[i]));
    }
  }
  const inline = (text) => text.replace(STRING_OR_CONSTANT, (found) => values.get(found) ?? found);
  return parts.flatMap(({ name, text }) => {
    const lines = text.split('\n').filter((line) => !LITERALS.test(line));
    return lines.length === 0 ? [] : [{ name, text: inline(lines.map((line) => line.trimStart()).join('\n')) }];
  });
}

function resolveIncludes(directory, file, { done, chain }) {
  if (chain.includes(file)) {
    throw new StepFailed(`lua: ${[...chain, file].join(' includes ')}: a circle`);
  }
  if (done.has(file)) return [];
  done.add(file);
  const blocks = [{ indent: 0, done }];
  const parts = [];
  let lines = [];
  let pieces = 0;
  const endPiece = () => {
    const text = stripComments(lines.join('\n'));
    lines = [];
    if (text === '') return;
    pieces += 1;
    const name = file.replace(/\.lua$/, '');
    parts.push({ name: pieces === 1 ? name : `${name} ${pieces}`, text });
  };
  readLua(directory, file, chain.at(-1)).forEach((line, index) => {
    const indent = line.search(/\S/);
    while (indent >= 0 && indent < blocks.at(-1).indent) blocks.pop();
    if (!INCLUDE_LINE.test(line)) return lines.push(line);
    const [, name] = INCLUDE.exec(line) ?? [];
    if (name === undefined) {
      throw new StepFailed(`lua/${file}:${index + 1}: write --- @include "shared/name" on a line of its own`);
    }
    endPiece();
    const included = name.endsWith('.lua') ? name : `${name}.lua`;
    if (indent > blocks.at(-1).indent) blocks.push({ indent, done: new Set(blocks.at(-1).done) });
    parts.push(...resolveIncludes(directory, included, { done: blocks.at(-1).done, chain: [...chain, file] }));
  });
  endPiece();
  return parts;
}

/**
 * The files that a file includes itself.
 * @param {string} directory
 * @param {string} file
 * @returns {string[]}
 */
export function includesOf(directory, file) {
  return readLua(directory, file).flatMap((line) => INCLUDE.exec(line)?.[1] ?? []);
}

/**
 * The constants of a file that TypeScript shares: each number below `--- @export`, with the comment above. Several numbers
 * on one line belong together.
 * @param {string} directory
 * @param {string} file
 */
export function exportedConstants(directory, file) {
  const lines = readLua(directory, file);
  return lines.flatMap((line, index) => {
    if (!EXPORT_LINE.test(line)) return [];
    const [, names, values] = CONSTANTS.exec(lines[index + 1] ?? '') ?? [];
    if (!EXPORT.test(line) || names?.split(', ').length !== values?.split(', ').length || names === undefined) {
      throw new StepFailed(`lua/${file}:${index + 1}: write --- @export above \`local NAME = 1\``);
    }
    const numbers = values.split(', ').map(Number);
    return [{ comment: commentAbove(lines, index), constants: names.split(', ').map((name, i) => [name, numbers[i]]) }];
  });
}

/**
 * The roles of the keys that a file names, in the order of KEYS.
 * @param {string} directory
 * @param {string} file
 * @returns {string[]}
 */
export function keyRoles(directory, file) {
  const keys = readLua(directory, file).flatMap((line) => {
    const [, name, position] = KEY.exec(line) ?? [];
    return name === undefined ? [] : [[Number(position), name.toLowerCase()]];
  });
  keys.forEach(([position], index) => {
    if (position !== index + 1) throw new StepFailed(`lua/${file}: KEYS[${position}] is not in its place`);
  });
  return keys.map(([, role]) => role);
}

function commentAbove(lines, index) {
  const comment = [];
  for (let i = index - 1; i >= 0 && /^-- /.test(lines[i]); i -= 1) comment.unshift(lines[i].slice(3).trim());
  return comment.join(' ');
}

function readLua(directory, file, includedBy) {
  try {
    return readFileSync(join(directory, file), 'utf8').split(/\r?\n/);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    throw new StepFailed(`lua/${includedBy} includes "${file}", but there is no lua/${file}`);
  }
}

/**
 * Removes comments, blank lines and trailing blanks; leaves quoted strings and long brackets as they are.
 * @param {string} source
 * @returns {string}
 */
export function stripComments(source) {
  // One alternative per thing in which `--`, a quote or a bracket does not mean itself, tried at every position.
  const token =
    /--\[(=*)\[[\s\S]*?\]\1\]|--[^\n]*|\[(=*)\[[\s\S]*?\]\2\]|"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'|\n|[^\n]/g;
  const lines = [];
  let line = '';
  for (const [text] of source.matchAll(token)) {
    if (text === '\n') {
      lines.push(line.trimEnd());
      line = '';
    } else if (!text.startsWith('--')) {
      line += text;
    } else {
      // A comment separates words as a blank does.
      line += ' ';
    }
  }
  lines.push(line.trimEnd());
  return lines.filter((text) => text !== '').join('\n');
}
