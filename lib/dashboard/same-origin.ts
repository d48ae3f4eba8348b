import type { IncomingHttpHeaders } from 'node:http';

/** Must be there with each change: no form can send it, and no script of another origin without being asked first (CORS). */
export const OWN_HEADER = 'x-lock-dashboard';

/** Where a request comes from, as its browser tells it; `undefined`: it is from none, or from one too old to tell. */
const siteOf = (headers: IncomingHttpHeaders): string | undefined => headers['sec-fetch-site'];

/**
 * Why what is asked for is not told to whoever asks; `undefined`: it is. An application may let scripts of any origin read what it
 * answers (CORS, with credentials), and does not mean this.
 */
export function readingRefusal(headers: IncomingHttpHeaders): string | undefined {
  const site = siteOf(headers);
  // Without a site (no HTTPS, or an old browser) a script of another origin is known by the origin that CORS has it send.
  const isOwn = site === undefined ? isOwnOrigin(headers) : site === 'same-origin' || site === 'none';
  return isOwn ? undefined : 'this is told to its own page only';
}

/** Why a change is refused; `undefined`: it is not. */
export function changeRefusal(headers: IncomingHttpHeaders): string | undefined {
  if (headers[OWN_HEADER] === undefined) return `the header ${OWN_HEADER} is missing`;
  if (!/^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')) return 'write application/json';
  const site = siteOf(headers);
  if (site !== undefined) return site === 'same-origin' ? undefined : 'changes come from its own page only';
  // Browsers tell the site over HTTPS only; the origin they tell with every change.
  if (isOwnOrigin(headers)) return undefined;
  return 'changes come from its own page only: a proxy has to leave the header Host as it is';
}

/** No origin is told by programs, and by pages that read from their own. */
const isOwnOrigin = ({ origin, host }: IncomingHttpHeaders): boolean => origin === undefined || hostOf(origin) === host;

const hostOf = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).host : undefined);
