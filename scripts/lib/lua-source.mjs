import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StepFailed } from './run.mjs';

const INCLUDE_LINE = /^\s*---?\s*@include\b/;
const INCLUDE = /^\s*--- @include "([\w./-]+)"\s*$/;

/** A script as it is sent to Redis: shared parts put in where they are included, comments and blank lines gone. */
export function assembleScript(directory, file) {
  return stripComments(resolveIncludes(directory, file, { done: new Set(), chain: [] }));
}

function resolveIncludes(directory, file, { done, chain }) {
  if (chain.includes(file)) {
    throw new StepFailed(`lua: ${[...chain, file].join(' includes ')}: a circle`);
  }
  if (done.has(file)) return '';
  done.add(file);
  const lines = readLua(directory, file, chain.at(-1)).split(/\r?\n/);
  return lines
    .map((line, index) => {
      if (!INCLUDE_LINE.test(line)) return line;
      const [, name] = INCLUDE.exec(line) ?? [];
      if (name === undefined) {
        throw new StepFailed(`lua/${file}:${index + 1}: write --- @include "shared/name" on a line of its own`);
      }
      const included = name.endsWith('.lua') ? name : `${name}.lua`;
      return resolveIncludes(directory, included, { done, chain: [...chain, file] });
    })
    .join('\n');
}

function readLua(directory, file, includedBy) {
  try {
    return readFileSync(join(directory, file), 'utf8');
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    throw new StepFailed(`lua/${includedBy} includes "${file}", but there is no lua/${file}`);
  }
}

/** Removes comments, blank lines and trailing blanks; leaves quoted strings and long brackets as they are. */
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
