// Fails if the library, its docs or its laboratories use more of the words that hide who does what: npm run check:words
import { compare, filesIn, readIfPresent, tighten } from './lib/ratchet.mjs';
import { runAsScript, StepFailed } from './lib/run.mjs';

/**
 * The words to avoid, and their replacements. A blank in a pattern is any white space, the wrap of a comment included.
 */
const WORDS = [
  [
    'somebody|someone|whoever|(?:nobody|everybody|everyone) [a-z]+',
    'name the caller, the waiter, the holder, the client',
  ],
  ['who waits?|who waited|those (?:who|that)', 'name the waiter or the thing'],
  ['what is held|one that', 'name the thing'],
  ['(?:is|are|be|was|were) (?:heard of|told of?)|hears? of|heard of|told of', 'receives, learns, is notified'],
  ['(?:give|gives|gave|given|giving) (?:it |them )?back', 'release'],
  ['hand(?:s|ed|ing)? (?:it |them )?on', 'hand off, pass'],
  ['(?:come|comes|came|coming|let|lets) in', 'acquire, is granted'],
  ['ha(?:s|ve|d) (?:a|the) key', 'hold a lock'],
  ['what takes long|for a while', 'a number with its unit'],
  ['(?:is|are|be|been|was|were) told', 'receives, learns, is notified'],
  ['beliefs?|believes?|believed', 'validity, considers valid'],
  ['also (?:if|when|after)', 'even if, even after'],
  ['goes on|went on', 'continues'],
  ['in vain', 'without success'],
  ['all the same', 'still'],
  ['for ever', 'forever'],
  ['(?:come|comes) to 0', 'reaches 0'],
];
const GAP = '(?:\\s|\\n\\s*(?:\\*|//|--)\\s)+';
const PATTERNS = WORDS.map(([words, instead]) => [
  new RegExp(`\\b(?:${words.replaceAll(' ', GAP)})\\b`, 'gi'),
  instead,
]);

const DOCS = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'docs/*.md', 'examples', 'sample-app'];
const LABORATORIES = [
  'chaos',
  'drill',
  'reliability',
  'mutations',
  'model/README.md',
  'bench',
  'scripts',
  'simulation',
  'testbed',
  'test',
];
const FOLDERS = ['lib', 'lua', ...DOCS, ...LABORATORIES];
/** This file has the words themselves. */
const LEFT_OUT = /\.generated\.ts$|check-words\.mjs$/;

await runAsScript(async () => {
  const found = await find();
  const counts = Object.fromEntries(Object.entries(found).map(([folder, places]) => [folder, places.length]));
  if (process.argv.includes('--update')) return tighten('words', counts);
  const { known, grown, mayShrink } = compare('words', counts);
  if (mayShrink) console.log('Some folders got better: `npm run check:words -- --update` lowers their limits.');
  if (grown.length === 0) return;
  for (const folder of grown) {
    const limit = known[folder] ?? 0;
    console.error(
      `${folder}: ${counts[folder]} words to avoid, at most ${limit}. Rewrite ${counts[folder] - limit} of:`,
    );
    for (const place of found[folder]) console.error(`  ${place}`);
  }
  throw new StepFailed('If text has only moved between folders, run `npm run check:words -- --update`.');
});

/** Each place with its line and the replacement, by folder. */
async function find() {
  const found = {};
  for (const path of await filesIn(...FOLDERS)) {
    const text = LEFT_OUT.test(path) ? undefined : readIfPresent(path);
    if (text === undefined) continue;
    const [top, room, file] = path.split('/');
    const folder = file === undefined ? top : `${top}/${room}`;
    for (const [pattern, instead] of PATTERNS) {
      for (const { 0: words, index } of text.matchAll(pattern)) {
        const line = text.slice(0, index).split('\n').length;
        (found[folder] ??= []).push(`${path}:${line}: "${words.replace(/[\s*/-]+/g, ' ')}" (write: ${instead})`);
      }
    }
  }
  return found;
}
