import type { IncomingHttpHeaders } from 'node:http';

/**
 * Every change needs this header. A form cannot send it, and a script of another origin only with permission (CORS).
 */
export const OWN_HEADER = 'x-lock-dashboard';

/** The site of a request, as the browser reports it; `undefined`: the client is not a browser, or too old. */
const siteOf = (headers: IncomingHttpHeaders): string | undefined => headers['sec-fetch-site'];

/**
 * Why a request to read is refused; `undefined`: it is permitted. An application may permit scripts of any origin to
 * read its responses (CORS, with credentials). That permission must not include this page.
 */
export function readingRefusal(headers: IncomingHttpHeaders): string | undefined {
  const site = siteOf(headers);
  // Without a site (no HTTPS, or an old browser), the origin that CORS requires reveals a script of another origin.
  const isOwn = site === undefined ? isOwnOrigin(headers) : site === 'same-origin' || site === 'none';
  return isOwn ? undefined : 'only the dashboard page itself may read this';
}

/** Why a change is refused; `undefined`: it is permitted. */
export function changeRefusal(headers: IncomingHttpHeaders): string | undefined {
  if (headers[OWN_HEADER] === undefined) return `the header ${OWN_HEADER} is missing`;
  if (!/^application\/json\s*(;|$)/i.test(headers['content-type'] ?? ''))
    return 'the content type must be application/json';
  const site = siteOf(headers);
  if (site !== undefined) return site === 'same-origin' ? undefined : 'only the dashboard page itself may make changes';
  // Browsers send the site over HTTPS only, and the origin with every change.
  if (isOwnOrigin(headers)) return undefined;
  return 'only the dashboard page itself may make changes; a proxy must not change the Host header';
}

/** Programs send no origin, nor do pages that read from their own origin. */
const isOwnOrigin = ({ origin, host }: IncomingHttpHeaders): boolean => origin === undefined || hostOf(origin) === host;

const hostOf = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).host : undefined);
