import { format } from './format.mjs';

const KILO = 1000;

/** Sizes and times of packages as Markdown. */
export function toMarkdown({ rows, base, machine, date }) {
  return [
    '# Size and import time',
    '',
    `Node ${machine.node}, ${machine.cpu}, load ${machine.load.toFixed(1)}; ${date}. By \`npm run bench:package\`.`,
    '',
    '| package | packed, kB | unpacked, kB | installed with its dependencies, kB | packages it brings | import, ESM, ms | import, CommonJS, ms |',
    '|---|--:|--:|--:|--:|--:|--:|',
    ...rows.map((row) => `| ${row.name} ${row.version} | ${cells(row).join(' | ')} |`),
    '',
    'Installed with its dependencies: what an application that has Nest (`@nestjs/common`, `@nestjs/core`, `rxjs`, `reflect-metadata`) and',
    'ioredis has to store besides. Peer dependencies are not counted, and neither is what npm would keep twice for other versions of those.',
    '',
    `Import: the median of ${machine.starts} fresh processes for each format, all packages in turn. Nest and ioredis are loaded before the`,
    `clock starts; they take ${format(base.esm, 0)} ms as ES modules and ${format(base.cjs, 0)} ms as CommonJS. Empty: it cannot be loaded in that way.`,
    '',
  ].join('\n');
}

function cells({ packed, unpacked, total, packages, esm, cjs }) {
  const kilobytes = (bytes) => format(bytes / KILO, 0);
  const milliseconds = (time) => (time === undefined ? '' : format(time, 1));
  return [
    kilobytes(packed),
    kilobytes(unpacked),
    kilobytes(total),
    String(packages),
    milliseconds(esm),
    milliseconds(cjs),
  ];
}
