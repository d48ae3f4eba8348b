/**
 * An id is that of the client, a number, and the number of the call site in base 36: `<client>:<number>.<site>`. A client
 * numbers the holds that share one in the store: `<client>:<number>+<sharer>.<site>`. The store does not know these ids.
 */
const ID = /^([^:]+):\d+(?:\+\d+)?(?:\.([\da-z]{1,2}))?(?:\/kept)?$/;
const BASE = 36;

/** What the id of an acquisition says. */
export interface AcquisitionName {
  readonly client: string;
  /** `undefined`: the call named no pattern, or the client has too many of them. */
  readonly site: number | undefined;
}

/** What follows the number of an acquisition in its id: at most three bytes for a site below 1,296. */
export const siteSuffix = (site: number): string => `.${site.toString(BASE)}`;

/** The id of a hold that shares the hold `id` of the store. `suffix`: that of its own call site, or empty. */
export const sharerId = (id: string, sharer: number, suffix: string): string =>
  `${id.replace(/\.[\da-z]{1,2}$/, '')}+${sharer}${suffix}`;

/** Reads the id of an acquisition, also of a hold that is kept for its `holdAtLeast`. */
export function readAcquisitionId(id: string): AcquisitionName {
  const [, client, site] = ID.exec(id) ?? [];
  // Another id, such as that of an offer, belongs to no client.
  if (client === undefined) return { client: id.slice(0, Math.max(0, id.indexOf(':'))), site: undefined };
  return { client, site: site === undefined ? undefined : Number.parseInt(site, BASE) };
}
