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
 * The pieces of a script in their order, each with the file that it comes from, and the function. The files include each other at
 * their heads. Here each function goes to the place where the script first needs it: into the innermost block around all
 * lines that use it. Redis makes all functions of a script anew with each call, and those of a block only if the script gets
 * there.
 * @param {string} directory
 * @param {string} file
 * @returns {Array<{ readonly name: string, readonly text: string }>}
 */
export function scriptParts(directory, file) {
  const files = filesOf(directory, file);
  const values = constantsOf(files);
  let lines = [];
  for (const { name, source } of files.reverse()) {
    const own = source
      .split('\n')
      .filter((line) => line !== '' && !LITERALS.test(line))
      .map((text) => ({ part: name, text, words: wordsOf(text) }));
    lines = lines.length === 0 ? own : unitsOf(own).reduceRight((around, unit) => placed(unit, around), lines);
  }
  const parts = [];
  for (const { part: name, text } of lines) {
    if (parts.at(-1)?.name === name) parts.at(-1).lines.push(text);
    else parts.push({ name, lines: [text] });
  }
  const inline = (text) => text.replace(STRING_OR_CONSTANT, (found) => values.get(found) ?? found);
  return parts.map((part) => ({
    name: part.name,
    text: inline(part.lines.map((line) => line.trimStart()).join('\n')),
  }));
}

/** The files of a script, each after the files that it includes, without comments. */
function filesOf(directory, file, chain = [], found = new Map()) {
  if (chain.includes(file)) throw new StepFailed(`lua: ${[...chain, file].join(' includes ')}: a circle`);
  if (found.has(file)) return [...found.values()];
  const lines = readLua(directory, file, chain.at(-1));
  let hasCode = false;
  lines.forEach((line, index) => {
    if (!INCLUDE_LINE.test(line)) {
      hasCode ||= !/^\s*(--.*)?$/.test(line);
      return;
    }
    const [, name] = INCLUDE.exec(line) ?? [];
    if (name === undefined || hasCode) {
      throw new StepFailed(
        `lua/${file}:${index + 1}: write --- @include "shared/name" on a line of its own, at the head of the file`,
      );
    }
    filesOf(directory, name.endsWith('.lua') ? name : `${name}.lua`, [...chain, file], found);
  });
  found.set(file, { name: file.replace(/\.lua$/, ''), source: stripComments(lines.join('\n')) });
  return [...found.values()];
}

/**
 * The values that stand in the text in place of the names of constants. Lua searches a list for each outer variable that a
 * function uses: the names cost a quarter of a script's time.
 */
function constantsOf(files) {
  /** @type {Map<string, string>} */
  const values = new Map();
  for (const { source } of files) {
    for (const line of source.split('\n')) {
      const [, names, literals] = LITERALS.exec(line) ?? [];
      names?.split(', ').forEach((name, i) => values.set(name, literals.split(', ')[i]));
    }
  }
  return values;
}

const FUNCTION = /^local function (\w+)/;
/** A line that continues or ends a statement with blocks. */
const LATER_PART = /^\s*(end|else|elseif|until)\b/;
const STRING = /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g;
const wordsOf = (text) => text.replace(STRING, "''").match(/(?<![.\w])[A-Za-z_]\w*/g) ?? [];

/** The functions of a file, and the statements between them. */
function unitsOf(lines) {
  const units = [];
  let isFunction = true;
  for (const line of lines) {
    const begins = FUNCTION.test(line.text);
    const continues = isFunction && /^(\s|end)/.test(line.text);
    if (begins || (isFunction && !continues)) units.push([]);
    if (begins || !continues) isFunction = begins;
    units.at(-1).push(line);
  }
  return units;
}

/** `lines`, with a part of a file in front of the first statement that needs it. */
function placed(own, lines) {
  const names = new Set(own.flatMap(({ text }) => namesAtTop(text)));
  const paths = blockPaths(lines);
  const uses = lines.flatMap(({ words }, i) => (words.some((word) => names.has(word)) ? [i] : []));
  if (uses.length === 0) return lines;
  let block = uses.map((i) => paths[i]).reduce((a, b) => a.slice(0, a.filter((each, i) => each === b[i]).length));
  // A loop would make its functions anew each time; a function, too, would set its variables anew with each call.
  const isState = own.some(({ text }) => /^\S/.test(text) && !/^(local function|end$)/.test(text));
  const limit = block.findIndex(({ kind }) => kind === 'loop' || (isState && kind === 'function'));
  if (limit >= 0) block = block.slice(0, limit);
  const indent = block.at(-1)?.indent ?? 0;
  let at = uses[0];
  while (paths[at].length > block.length || indentOf(lines[at]) > indent || LATER_PART.test(lines[at].text)) at -= 1;
  // A function is a piece of its own: most scripts that need it have other neighbours around it.
  const [, functionName] = FUNCTION.exec(own[0].text) ?? [];
  const moved = own.map(({ part, text, words }) => ({
    part: functionName === undefined ? part : `${part} ${functionName}`,
    text: ' '.repeat(indent) + text,
    words,
  }));
  return [...lines.slice(0, at), ...moved, ...lines.slice(at)];
}

const indentOf = ({ text }) => text.search(/\S/);

function namesAtTop(line) {
  const [, name, list] = /^local (?:function (\w+)|([\w, ]+?)(?: =|$))/.exec(line) ?? [];
  return name !== undefined ? [name] : (list?.split(', ') ?? []);
}

/** For each line the blocks around it, from the outermost on. A line that begins or ends a block is not in it. */
function blockPaths(lines) {
  const path = [];
  let kind;
  return lines.map((line, i) => {
    const around = LATER_PART.test(line.text) ? path.slice(0, -1) : [...path];
    for (const word of line.words) {
      if (word === 'end' || word === 'else' || word === 'elseif' || word === 'until') path.pop();
      if (word === 'for' || word === 'while') kind = 'loop';
      const opens = { then: 'branch', else: 'branch', repeat: 'loop', function: 'function', do: kind ?? 'branch' }[
        word
      ];
      if (opens !== undefined) path.push({ kind: opens, indent: indentOf(lines[i + 1] ?? line) });
      if (word === 'do') kind = undefined;
    }
    return around;
  });
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
