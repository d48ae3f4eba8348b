import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'acorn';
import { StepFailed } from './run.mjs';
import { squeezeProgram } from './squeeze.mjs';

const STYLE = /<link rel="stylesheet" href="([\w.-]+)" \/>/;
const SCRIPT = /<script type="module" src="([\w.-]+)"><\/script>/;

/** A page of several files as one document that asks for nothing else, and the policy that forbids it everything else. */
export function assemblePage(directory) {
  const html = readFileSync(join(directory, 'index.html'), 'utf8').replace(/\n\s+/g, '\n');
  const style = `\n${squeezeStyle(readFileSync(join(directory, nameIn(html, STYLE)), 'utf8'))}`;
  const script = `\n${squeezeProgram(joinModules(directory, nameIn(html, SCRIPT)))}`;
  if (/<\/(script|style)/i.test(script + style)) throw new StepFailed('the page: </script> or </style> would end it');
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return {
    policy,
    // As functions: `$&` in the inserted text means itself.
    html: html
      .replace(STYLE, () => `<style>${style}</style>`)
      .replace(SCRIPT, () => `<script type="module">${script}</script>`),
  };
}

/** Without comments and blanks; no string of the style sheet has a line break, a comment or punctuation in it. */
const squeezeStyle = (style) =>
  style
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s*([{};,])\s*/g, '$1')
    .replace(/:\s+/g, ':');

function nameIn(html, pattern) {
  const [, name] = pattern.exec(html) ?? [];
  if (name === undefined) throw new StepFailed(`index.html has no ${pattern.source}`);
  return name;
}

const hashOf = (text) => `sha256-${createHash('sha256').update(text).digest('base64')}`;

/** Modules as one: each once, after the modules that it imports, without the words that join them. */
export function joinModules(directory, entry) {
  const done = new Map();
  add(directory, entry, done);
  const script = [...done.values()].join('\n');
  try {
    parse(script, { ecmaVersion: 'latest', sourceType: 'module' });
  } catch (error) {
    throw new StepFailed(`${entry} and what it imports cannot be one script: ${error.message}`);
  }
  return script;
}

function add(directory, name, done, chain = []) {
  if (chain.includes(name)) throw new StepFailed(`${[...chain, name].join(' imports ')}: a circle`);
  if (done.has(name)) return;
  const source = readFileSync(join(directory, name), 'utf8');
  const { body } = parse(source, { ecmaVersion: 'latest', sourceType: 'module' });
  const cuts = [];
  for (const node of body) {
    if (node.type === 'ImportDeclaration') {
      add(directory, importedBy(node, name), done, [...chain, name]);
      cuts.push([node.start, node.end + 1]);
    } else if (node.type === 'ExportNamedDeclaration' && node.declaration) {
      cuts.push([node.start, node.declaration.start]);
    } else if (node.type.startsWith('Export')) {
      throw new StepFailed(`${name}: write export before a declaration`);
    }
  }
  const text = cuts.reduceRight((rest, [start, end]) => rest.slice(0, start) + rest.slice(end), source);
  done.set(name, text.trimStart());
}

function importedBy({ source: { value }, specifiers }, name) {
  const isPlain = specifiers.every(
    ({ type, imported, local }) => type === 'ImportSpecifier' && imported.name === local.name,
  );
  const [, file] = /^\.\/([\w.-]+\.js)$/.exec(value) ?? [];
  if (isPlain && file !== undefined) return file;
  throw new StepFailed(`${name}: write import { name } from './file.js', without another name`);
}
