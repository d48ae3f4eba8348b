import { time } from '../../../lib/cli/output/texts.js';
import { printable } from '../../../lib/common/describe.js';
import { clientName } from '../../../lib/service/party-names.js';

/** The page runs in a browser, so it has texts of its own. */
const PAGE = '../../../lib/dashboard/page/format.js';
const page = (await import(PAGE)) as {
  time: (ms: number) => string;
  visible: (text: string) => string;
  clientName: (client: string) => string;
};

it('the texts of the dashboard are those of the command', () => {
  for (const ms of [-1, 0, 10, 999.4, 1_000, 12_345, 59_999, 60_000, 185_000, 3_600_000, 100_000_000, 9e9]) {
    expect(page.time(ms)).toBe(time(ms));
  }
  for (const text of ['stock:42', 'a\u001b[31mb', '\u202etxt', 'a\u2028b', 'half \ud800', '😀', '\u{e0001}']) {
    expect(page.visible(text)).toBe(printable(text));
  }
  expect(page.clientName('0123456789abcdef')).toBe(clientName('0123456789abcdef'));
});
