import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { ENTRY_POINTS } from './lib/entries.mjs';
import { ROOT } from './lib/paths.mjs';
import { runAsScript, StepFailed } from './lib/run.mjs';

const PAGES = ['docs/options.md', 'docs/dashboard.md', 'docs/redisson.md'];

/*
 * A table of options stands between `<!-- options TYPE … -->` and `<!-- /options -->`: the options of these types, each with
 * its doc comment. `own TYPE` takes only the options that the type declares itself; `like TYPE` leaves out the options that
 * come from that type, and names them below with a link to its table.
 */
const TABLE = /<!-- options ([\w ]+?) -->\n[\s\S]*?<!-- \/options -->/g;

/** The pages as the doc comments of the public types give them, by path. */
export function generate() {
  const types = publicTypes();
  const pages = PAGES.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]);
  return new Map(pages.map(([path, text]) => [path, fill(text, types)]));
}

function fill(page, types) {
  const places = anchors(page);
  return page.replace(TABLE, (_, words) => {
    const { rows, like } = readMarker(words.split(' '), types);
    const isLike = ({ declaration }) => like?.options.some((other) => other.declaration === declaration) ?? false;
    const same = rows.filter(isLike).map(({ name }) => `\`${name}\``);
    return [
      `<!-- options ${words} -->`,
      '',
      '| option | default | meaning |',
      '|---|---|---|',
      ...rows.filter((option) => !isLike(option)).map((option) => row(option, places)),
      '',
      ...(same.length === 0 ? [] : [`[As above](#${places.get(like.type)}): ${same.join(', ')}.`, '']),
      '<!-- /options -->',
    ].join('\n');
  });
}

/** The options that a marker asks for, each name once, and the type of the others. */
function readMarker(words, types) {
  const rows = new Map();
  let like;
  for (let i = 0; i < words.length; i++) {
    const keyword = words[i] === 'own' || words[i] === 'like' ? words[i++] : undefined;
    const options = types(words[i], keyword === 'own');
    if (keyword === 'like') like = { type: words[i], options };
    else for (const option of options) if (!rows.has(option.name)) rows.set(option.name, option);
  }
  return { rows: [...rows.values()], like };
}

function row({ name, byDefault, meaning }, places) {
  const linked = meaning.replace(/\{@link (\w+) ?\}/g, (_, type) => `[${type}](#${places.get(type) ?? missing(type)})`);
  return `| \`${name}\` | ${byDefault} | ${linked.replaceAll('|', '\\|')} |`.replace(/ {2,}/g, ' ');
}

function missing(type) {
  throw new StepFailed(`a doc comment refers to ${type}, which no table of the page is about`);
}

/** The anchors of the headings above the tables, by the types of the tables. */
function anchors(page) {
  const places = new Map();
  let heading = '';
  for (const line of page.split('\n')) {
    heading = /^#+ (.*)$/.exec(line)?.[1] ?? heading;
    const [, words = ''] = /^<!-- options (.*) -->$/.exec(line) ?? [];
    const types = words.split(/ like /)[0].split(' ');
    for (const type of types) if (!places.has(type)) places.set(type, heading.toLowerCase().replace(/[^\w]+/g, '-'));
  }
  return places;
}

/** Answers the options of a type of lib, in the order of the type. */
function publicTypes() {
  const files = Object.values(ENTRY_POINTS).map((name) => join(ROOT, 'lib', `${name}.ts`));
  const program = ts.createProgram(files, {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    strict: true,
    skipLibCheck: true,
  });
  const checker = program.getTypeChecker();
  const sources = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(join(ROOT, 'lib')));
  const modules = sources.map((source) => checker.getSymbolAtLocation(source)).filter((symbol) => symbol !== undefined);
  const exported = modules.flatMap((symbol) => checker.getExportsOfModule(symbol));
  return (name, own) => {
    const found = exported.find((symbol) => symbol.name === name);
    if (found === undefined)
      throw new StepFailed(`a table of options is about ${name}, which no module of lib exports`);
    const symbol = found.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(found) : found;
    const properties = own ? [...symbol.members.values()] : checker.getDeclaredTypeOfSymbol(symbol).getProperties();
    return properties.map((property) => describe(property, name, checker));
  };
}

function describe(property, type, checker) {
  const meaning = ts
    .displayPartsToString(property.getDocumentationComment(checker))
    .replace(/\n- /g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  if (meaning === '') throw new StepFailed(`${type}.${property.name} has no doc comment`);
  const tag = property.getJsDocTags(checker).find(({ name }) => name === 'defaultValue');
  const byDefault = ts.displayPartsToString(tag?.text).trim();
  const isCode = /^('.*'|true|false|Infinity)$/.test(byDefault);
  return {
    name: property.name,
    declaration: property.declarations?.[0],
    byDefault: isCode ? `\`${byDefault}\`` : byDefault,
    meaning,
  };
}

/** Fails, with the command to run, if a committed page is stale. */
function checkGenerated() {
  for (const [path, text] of generate()) {
    if (readFileSync(join(ROOT, path), 'utf8') === text) continue;
    throw new StepFailed(
      `${path} is not what the doc comments give: run \`npm run generate:options\` and commit the result`,
    );
  }
}

function write() {
  for (const [path, text] of generate()) writeFileSync(join(ROOT, path), text);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await runAsScript(() => (process.argv.includes('--check') ? checkGenerated() : write()));
}
