import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PAGE = fileURLToPath(new URL('../recovery.md', import.meta.url));
const HEAD = `# Recovery

How long callers are affected by faults that happen alone: from the beginning of a fault until each client has acquired and
released a lock of its own again, and, after a client was stopped or killed, until each of its keys was acquired again. Kept and
lost are the locks that other clients held when the fault began, with a lease that is renewed. \`npm run chaos -- --default-timeouts --minutes 10 --recovery\`
writes the section of its topology. Leases are 3 s, a tenth of the default; all else is as by default.

`;

/**
 * Replaces the section of a topology in the page of recovery times.
 * @param {import('./summary.mjs').Summary} summary
 */
export function writeRecovery({ topology, seed, seconds, calmPulse, recovery }) {
  const [, ...sections] = (existsSync(PAGE) ? readFileSync(PAGE, 'utf8') : '').split('\n## ');
  const others = sections.map((text) => `## ${text.trim()}\n`).filter((text) => !text.startsWith(`## ${topology}\n`));
  const ms = ({ median, worst }) => `${median ?? ''} | ${worst ?? ''}`;
  const section = [
    `## ${topology}\n`,
    `Seed ${seed}, ${seconds} s, ${new Date().toISOString().slice(0, 10)}. While nothing fails, a lock takes ${calmPulse.median} ms (${calmPulse.worst} ms at most).\n`,
    '| fault | times | locks kept | lost | ms to normal service: median | worst | after the end of the fault: median | worst |',
    '|---|--:|--:|--:|--:|--:|--:|--:|',
    ...recovery.map(
      ({ kind, count, never, kept, lost, fromBegin, fromEnd }) =>
        `| ${kind}${never > 0 ? ` (${never} never)` : ''} | ${count} | ${kept} | ${lost} | ${ms(fromBegin)} | ${ms(fromEnd)} |`,
    ),
    '',
  ].join('\n');
  writeFileSync(PAGE, HEAD + [...others, section].sort().join('\n'));
}
