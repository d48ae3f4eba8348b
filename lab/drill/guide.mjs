import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const GUIDE = 'lab/drill/transcript.md';
const FILE = fileURLToPath(new URL(`../../${GUIDE}`, import.meta.url));

/** A command of the transcript and its output, or a view of the dashboard. */
const BLOCK = /^```(?:console\n\$ (.*)|text\n(Dashboard of .*))\n([^]*?)^```$/gm;
const commandOf = ([, typed, view]) => typed ?? view;

/** What differs between two runs, or between two machines. The first rules take the most. */
const VOLATILE = [
  // The text of a server's error depends on its version.
  [/(Redis failed(?: \([^)]*\))?): [A-Z]+ .*/g, '$1: <error>'],
  [/\b[0-9a-f]{32}\b(:\d+)?/g, '<id>'],
  // The label of a client ends with the id of its process.
  [/\b((?:shop|job|report)-\d):\d+\b/g, '$1:<pid>'],
  // The holders of a busy key take turns. The situations check holders that are known.
  [/("holder":"shop| for shop)-\d:<pid>/g, '$1-<n>:<pid>'],
  // The reason for which Redis is unreachable depends on how long it has been.
  [/(The locks below are from then\.) .*/g, '$1 <error>'],
  [/^(redis_lock_\w+\{.*\}) .*/gm, '$1 <count>'],
  [/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>'],
  [/\b\d+[dhm] \d+[hms]\b|\b\d+(\.\d+)? m?s\b/g, '<duration>'],
  [/"(held|waited|lateBy)":[\d.]+/g, '"$1":<duration>'],
  [/(?:\b\d+ [A-Z][a-z]{2}, )?\b\d\d:\d\d:\d\d\b/g, '<clock>'],
  [/\b127\.0\.0\.1:\d+/g, '<address>'],
  [/\b\d{13,20}\b/g, '<number>'],
  [/\b[0-9a-f]{8}\b/g, '<client>'],
  // A client writes its record in the background, before or after the eviction.
  [/(evicted keys: )\d+/g, '$1<count>'],
  [/\d+\.\d MiB/g, '<size>'],
  // The user of the program, and its host.
  [/\bby [\w.-]+@[\w.-]+/g, 'by <user>'],
  [/"forcedBy":"[^"]+"/g, '"forcedBy":"<user>"'],
  // The columns are as wide as their widest text.
  [/ {2,}/g, '  '],
];

/** An output without what differs between two runs. */
export const stable = (output) =>
  VOLATILE.reduce((text, [pattern, name]) => text.replace(pattern, name), output.trimEnd());

/** The commands of the transcript, by the section that they stand in. */
export class Guide {
  #text = readFileSync(FILE, 'utf8');
  #used = new Map();
  /** The outputs that this run has seen. */
  #seen = [];

  /** @param {{ isWritten?: boolean }} [options] `isWritten`: the outputs of this run will replace those of the transcript */
  constructor({ isWritten = false } = {}) {
    this.isWritten = isWritten;
  }

  /** The next block with this command in a section. */
  find(section, command) {
    const headings = [...this.#text.matchAll(/^#{2,3} (.*)$/gm)];
    const at = headings.findIndex(([, title]) => title === section);
    if (at === -1) throw new Error(`${GUIDE} has no section "${section}"`);
    const [from, to] = [headings[at].index, headings[at + 1]?.index ?? this.#text.length];
    const id = `${section}\n${command}`;
    const blocks = [...this.#text.matchAll(BLOCK)].filter(
      (block) => block.index > from && block.index < to && commandOf(block) === command,
    );
    const count = this.#used.get(id) ?? 0;
    this.#used.set(id, count + 1);
    const block = blocks[count];
    if (block === undefined) throw new Error(`"${section}" in ${GUIDE} lacks the block "${command}"`);
    const { index, 0: whole, 3: output } = block;
    return { index, whole, output, line: this.#text.slice(0, index).split('\n').length };
  }

  saw(block, output) {
    this.#seen.push({ block, output });
  }

  /** Blocks that no situation has played. */
  unplayed() {
    const total = [...this.#text.matchAll(BLOCK)].length;
    return total - [...this.#used.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Writes the outputs of this run into the transcript. */
  write() {
    let text = this.#text;
    for (const { block, output } of this.#seen.sort((a, b) => b.block.index - a.block.index)) {
      const fresh = block.whole.replace(/^(.*\n.*\n)[^]*/, (_, head) => `${head}${output.trimEnd()}\n\`\`\``);
      text = text.slice(0, block.index) + fresh + text.slice(block.index + block.whole.length);
    }
    writeFileSync(FILE, text);
  }
}
