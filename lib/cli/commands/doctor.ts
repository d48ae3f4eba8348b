import type { CommandLine } from '../arguments.js';
import { examine } from '../doctor/examine.js';
import type { Finding } from '../doctor/finding.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import type { Style } from '../output/style.js';
import type { Terminal } from '../output/terminal.js';
import { safe, safeJson } from '../output/texts.js';
import type { Session } from '../session.js';

/** Checks the servers, and reports what to change. */
export async function doctor(session: Session, { subject, json }: CommandLine, terminal: Terminal): Promise<ExitCode> {
  const findings = await examine(session, subject);
  const ok = findings.every(({ status }) => status !== 'problem');
  if (json) terminal.write(`${safeJson({ ok, findings }, 2)}\n`);
  else terminal.write(findings.map((finding) => describeFinding(terminal.style, finding)).join(''));
  return ok ? EXIT.ok : EXIT.no;
}

const LOOKS = { ok: 'good', warning: 'warning', problem: 'bad' } as const satisfies Record<
  Finding['status'],
  keyof Style
>;
const WIDTH = 'problem'.length;

function describeFinding(style: Style, { status, check, found, advice }: Finding): string {
  const line = `${style[LOOKS[status]](status.padEnd(WIDTH))}  ${style.strong(safe(check))}: ${safe(found)}\n`;
  return advice === undefined ? line : `${line}${' '.repeat(WIDTH + 2)}→ ${safe(advice)}\n`;
}
