import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { addressOf, ROOT, sources } from './pages.mjs';

/** Writes each page of the sidebar as Markdown beside its HTML, and llms.txt, which lists them for language models. */
export function plainPages(outDir) {
  const lists = sources.map(({ chapter, pages }) => {
    const lines = pages.map(({ title, file }) => {
      const address = `${addressOf(file)}.md`;
      const text = readFileSync(join(ROOT, file), 'utf8');
      const target = join(outDir, address);
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, text);
      return `- [${title}](${address})${about(text)}`;
    });
    return `## ${chapter}\n\n${lines.join('\n')}\n`;
  });
  const head =
    '# nestjs-redis-locks\n\n> Distributed locks for NestJS on Redis: a locked method runs on one replica at a time, per key.\n';
  writeFileSync(join(outDir, 'llms.txt'), `${head}\n${lists.join('\n')}`);
}

/** The first sentence of the first paragraph, if the page begins with one. */
function about(text) {
  const [, paragraph] = /^# .*\n\n([A-Z*][^\n]*(?:\n[^\n]+)*)/.exec(text) ?? [];
  const [sentence] = paragraph?.replace(/\s+/g, ' ').match(/^.*?[.:](?= |$)/) ?? [];
  return sentence === undefined || sentence.includes('](')
    ? ''
    : `: ${sentence.replace(/[:.]$/, '.').replace(/\*\*/g, '')}`;
}
