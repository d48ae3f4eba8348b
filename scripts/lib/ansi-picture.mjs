/** How wide and high a character of the terminal is, in px. */
const CELL = { width: 8.4, height: 20 };
const PADDING = 18;
const BAR = 34;

/** The look of each code of a terminal, as a class of the picture. */
const LOOKS = { 1: 'strong', 2: 'dim', 31: 'bad', 32: 'good', 33: 'warning' };
const ENDS = new Set([0, 22, 39]);

const STYLE = `
  .ground { fill: #12171f; } .bar { fill: #1d2530; }
  text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #d7dee9; white-space: pre; }
  .title { fill: #9ba7b8; font-size: 12px; }
  .strong { font-weight: 700; fill: #ffffff; } .dim { fill: #8d99aa; }
  .good { fill: #74d8a0; } .warning { fill: #f3bc6b; } .bad { fill: #ff958d; }`;

/** A picture of a terminal: SVG, so that its text stays text. */
export function pictureOf(title, output) {
  const lines = output.trimEnd().split('\n');
  const longest = Math.max(...lines.map((line) => [...plain(line)].length));
  const width = Math.ceil(longest * CELL.width + 2 * PADDING);
  const height = BAR + lines.length * CELL.height + 2 * PADDING - 6;
  const texts = lines.map((line, i) => {
    const y = BAR + PADDING + 10 + i * CELL.height;
    return `  <text y="${y}">${spansOf(line).map(toSvg).join('')}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escape(title)}">
<style>${STYLE}
</style>
  <rect class="ground" width="${width}" height="${height}" rx="10" />
  <path class="bar" d="M0 ${BAR}V10A10 10 0 0 1 10 0H${width - 10}A10 10 0 0 1 ${width} 10V${BAR}Z" />
  <text class="title" x="${PADDING}" y="22">$ ${escape(title)}</text>
${texts.join('\n')}
</svg>
`;
}

const CODES = /\u001b\[(\d+)m/;
const plain = (line) =>
  line
    .split(CODES)
    .filter((_, i) => i % 2 === 0)
    .join('');

/** The parts of a line that look different, with the column at which each begins. */
function spansOf(line) {
  const spans = [];
  let look;
  let column = 0;
  line.split(CODES).forEach((part, i) => {
    if (i % 2 === 1) {
      look = ENDS.has(Number(part)) ? undefined : LOOKS[part];
      return;
    }
    // Words stand at their columns, whatever font there is.
    for (const [word, at] of wordsOf(part)) spans.push({ text: word, look, column: column + at });
    column += [...part].length;
  });
  return spans;
}

/** Texts between gaps of two blanks and more. */
function wordsOf(part) {
  return [...part.matchAll(/\S+(?: \S+)*/g)].map(({ 0: word, index }) => [word, [...part.slice(0, index)].length]);
}

function toSvg({ text, look, column }) {
  const x = (PADDING + column * CELL.width).toFixed(1);
  const length = ([...text].length * CELL.width).toFixed(1);
  const name = look === undefined ? '' : ` class="${look}"`;
  return `<tspan x="${x}" textLength="${length}" lengthAdjust="spacingAndGlyphs"${name}>${escape(text)}</tspan>`;
}

const escape = (text) =>
  text.replace(/[&<>"]/g, (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[char]);
