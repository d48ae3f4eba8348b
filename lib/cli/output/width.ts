/** Characters that take two columns of a terminal: East Asian scripts and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
const ASCII = /^[ -~]*$/;
const segmenter = new Intl.Segmenter();

/** The characters of a text as a reader sees them: with their accents. */
const charactersOf = (text: string): string[] =>
  ASCII.test(text) ? text.split('') : Array.from(segmenter.segment(text), ({ segment }) => segment);

const columnsOf = (character: string): number => (WIDE.test(character) ? 2 : 1);

/** How many columns a text takes on a terminal. */
export const widthOf = (text: string): number =>
  ASCII.test(text) ? text.length : charactersOf(text).reduce((sum, each) => sum + columnsOf(each), 0);

/** Fills or cuts a text to a width. A cut text ends with `…`. */
export function fitTo(text: string, width: number): string {
  const missing = width - widthOf(text);
  if (missing >= 0) return text + ' '.repeat(missing);
  let [kept, taken] = ['', 1];
  for (const each of charactersOf(text)) {
    if ((taken += columnsOf(each)) > width) break;
    kept += each;
  }
  return fitTo(`${kept}…`, width);
}
