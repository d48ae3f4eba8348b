const UNRELEASED = /^## (\d+\.\d+\.\d+) - unreleased$/m;

/**
 * The version that the changelog is about to release, or `undefined`.
 * @param {string} changelog
 */
export const unreleasedVersion = (changelog) => UNRELEASED.exec(changelog)?.[1];

/**
 * The text of the changelog about a version, without its heading.
 * @param {string} changelog
 * @param {string} version
 */
export function notesOf(changelog, version) {
  const sections = changelog.split(/^(?=## )/m);
  const section = sections.find((text) => text.startsWith(`## ${version} `));
  return section?.split('\n').slice(1).join('\n').trim() ?? '';
}

/**
 * The changelog with a date in place of "unreleased".
 * @param {string} changelog
 * @param {string} date
 */
export const withDate = (changelog, date) => changelog.replace(UNRELEASED, `## $1 - ${date}`);
