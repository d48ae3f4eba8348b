// Fails if a file of the project uses words that hide who does what: npm run check:words
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './lib/paths.mjs';
import { capture, runAsScript, StepFailed } from './lib/run.mjs';

/**
 * The words to avoid, and their replacements. A blank in a pattern is any white space, the wrap of a comment included.
 */
const WORDS = [
  [
    'somebody|someone|whoever|(?:nobody|everybody|everyone) [a-z]+',
    'name the caller, the waiter, the holder, the client',
  ],
  ['who waits?|who waited|those (?:who|that)', 'name the waiter or the thing'],
  ['who has (?:released|waited|come|asked|got)', 'name the waiter, the holder, the client'],
  ['what is held|one that', 'name the thing'],
  ['(?:is|are|be|was|were) (?:heard of|told of?)|hears? of|heard of|told of', 'receives, learns, is notified'],
  ['(?:give|gives|gave|given|giving) (?:it |them )?back', 'release'],
  ['hand(?:s|ed|ing)? (?:it |them )?on', 'hand off, pass'],
  ['(?:come|comes|came|coming|let|lets) in', 'acquire, is granted'],
  ['ha(?:s|ve|d) (?:a|the) key', 'hold a lock'],
  ['what takes long|for a while', 'a number with its unit'],
  ['(?:is|are|be|been|was|were) told', 'receives, learns, is notified'],
  ['beliefs?|believes?|believed', 'validity, considers valid'],
  ['also (?:if|when|after|while)', 'even if, even while'],
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

/** This file has the words themselves. */
const LEFT_OUT =
  /\.generated\.ts$|^(?:docs\/|bench\/)?package-lock\.json$|^examples\/prisma\/generated\/|^lab\/model\/.*\.(pml|mjs)$|check-words\.mjs$/;

await runAsScript(async () => {
  const found = await find();
  if (found.length === 0) return;
  for (const place of found) console.error(place);
  throw new StepFailed(`${found.length} places use words that hide who does what. Rewrite them.`);
});

/** Each place with its line and the replacement. */
async function find() {
  const found = [];
  for (const path of await files()) {
    const text = LEFT_OUT.test(path) ? undefined : readIfPresent(path);
    if (text === undefined) continue;
    for (const [pattern, instead] of PATTERNS) {
      for (const { 0: words, index } of text.matchAll(pattern)) {
        const line = text.slice(0, index).split('\n').length;
        found.push(`${path}:${line}: "${words.replace(/[\s*/-]+/g, ' ')}" (write: ${instead})`);
      }
    }
  }
  return found;
}

/** The files that git tracks or that are new, by their path in the repository. */
async function files() {
  const listed = await capture('git', ['-C', ROOT, 'ls-files', '-co', '--exclude-standard', '-z']);
  if (listed === undefined) throw new StepFailed('git ls-files failed');
  return listed.split('\0').filter((path) => path !== '');
}

/** Reads the file; `undefined` if it has been deleted and the deletion is not committed yet. */
function readIfPresent(path) {
  try {
    return readFileSync(join(ROOT, path), 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}
