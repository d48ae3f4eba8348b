import { build } from '../../scripts/build.mjs';
import { tell } from '../../scripts/lib/counts.mjs';
import { readArguments, runAsScript, StepFailed } from '../../scripts/lib/run.mjs';
import { ensureRedis } from '../../scripts/setup.mjs';
import { GUIDE, Guide } from './guide.mjs';
import { GOAL, slowSections } from './minutes.mjs';
import { play, SECTIONS } from './play.mjs';

const USAGE = `npm run drill -- [options]

  --only text  the situations that have this text in their names: ${SECTIONS.map((name) => `\n               ${name}`).join('')}
  --write      writes the outputs of this run into ${GUIDE}, of the situations that did not fail
  --no-build   with dist/ as it is
  --help
`;

/** Plays each situation with real processes, and compares what an operator sees with the guide. */
async function main(args) {
  const { values } = readArguments(args, USAGE, { texts: ['only'], flags: ['write', 'no-build'] });
  if (values.help) return void console.log(USAGE);
  const chosen = SECTIONS.filter((section) => section.includes(values.only ?? ''));
  if (chosen.length === 0) throw new StepFailed(USAGE);
  await ensureRedis();
  if (!values['no-build']) await build();

  const guide = new Guide({ isWritten: values.write ?? false });
  let failed = 0;
  for (const section of chosen) {
    const since = performance.now();
    try {
      const lines = await play(section, guide);
      const took = ((performance.now() - since) / 1_000).toFixed(1);
      console.log(`ok      ${section} (${took} s): ${GUIDE}, lines ${lines.join(', ')}`);
    } catch (error) {
      failed++;
      console.log(`failed  ${section}: ${error.message}`);
    }
  }
  if (values.only === undefined && guide.unplayed() > 0) {
    failed++;
    console.log(`failed  ${guide.unplayed()} blocks of ${GUIDE} are played by no situation`);
  }
  if (values.write) guide.write();
  const slow = slowSections();
  for (const section of slow)
    console.log(`failed  "${section}": an answer takes more than ${GOAL} minutes, with the guide alone`);
  failed += slow.length;
  const total = chosen.length + slow.length + (values.only === undefined ? 1 : 0);
  return tell({ passed: total - failed, failed });
}

await runAsScript(() => main(process.argv.slice(2)));
