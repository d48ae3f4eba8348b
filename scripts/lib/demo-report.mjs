const isColourful = process.stdout.isTTY && !process.env.NO_COLOR;
const paint = (code) => (text) => (isColourful ? `\u001b[${code}m${text}\u001b[0m` : text);

export const bold = paint(1);
const dim = paint(2);
const red = paint('1;31');
const green = paint(32);

export const line = (text = '') => console.log(text === '' ? '' : `  ${text}`);
/** Begins a line that the next output ends: what is going on now. */
export const startLine = (text) => process.stdout.write(`  ${text}`);
export const heading = (text) => console.log(`\n${bold(text)}\n`);

/** 12,345 */
export const count = (number) => Math.round(number).toLocaleString('en-US');
/** Milliseconds as people read them: `3.2 s`, `48 ms`, `0.4 ms`. */
export function time(ms) {
  if (Number.isNaN(ms)) return '-';
  if (ms >= 10_000) return `${(ms / 1000).toFixed(0)} s`;
  if (ms >= 1_000) return `${Number.isInteger(ms / 1000) ? ms / 1000 : (ms / 1000).toFixed(2)} s`;
  return `${ms < 10 && !Number.isInteger(ms) ? ms.toFixed(1) : Math.round(ms)} ms`;
}

/** The value below which `share` of the samples lie. */
export function percentile(samples, share) {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}

/** Prints rows in columns: the first one to the left, numbers to the right. */
export function table(head, rows) {
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((row) => row[i].length)));
  const layOut = (row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('   ');
  line(dim(layOut(head)));
  for (const row of rows) line(layOut(row));
}

/** The promises of the library and whether they were kept, and the figures that are worth remembering. */
export class Results {
  #all = [];
  #figures = [];

  /** Prints and remembers whether a promise was kept; `why` describes the observation if it was not. */
  check(promise, isKept, why = '') {
    this.#all.push({ promise, isKept });
    line(`${isKept ? green('ok    ') : red('BROKEN')}  ${promise}`);
    if (!isKept) for (const text of why.split('\n')) line(`        ${text}`);
  }

  /** Keeps a figure for the summary. */
  note(label, text) {
    this.#figures.push([label, text]);
  }

  /** Prints the last lines of the demo and returns its exit code. */
  summary(took) {
    heading('Summary');
    const width = Math.max(0, ...this.#figures.map(([label]) => label.length));
    for (const [label, text] of this.#figures) line(`${label.padEnd(width)}   ${text}`);
    console.log();

    const total = this.#all.length;
    const broken = this.#all.filter(({ isKept }) => !isKept);
    if (broken.length === 0) {
      console.log(`${green(bold(`All ${total} promises were kept.`))} The demo took ${time(took)}.`);
      return 0;
    }
    console.log(red(`${broken.length} of ${total} promises ${broken.length === 1 ? 'was' : 'were'} broken:`));
    for (const { promise } of broken) line(promise);
    return 1;
  }
}
