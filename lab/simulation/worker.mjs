// Runs the seeds that its parent gives it.
import { describe } from './schedule/describe.ts';
import { search } from './search.ts';

process.on('message', async (options) => {
  const result = await search(options).catch((error) => {
    // Not a finding: the search itself has failed, and its seeds would go unreported.
    console.error(error);
    process.exit(1);
  });
  const findings = result.findings.map(({ shrunk, ...finding }) => ({
    ...finding,
    shrunk: shrunk && { ...shrunk, schedule: describe(shrunk.schedule) },
  }));
  process.send({ ...result, findings });
});
process.on('disconnect', () => process.exit());
