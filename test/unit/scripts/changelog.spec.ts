import { describe, expect, it } from '@jest/globals';
import { notesOf, unreleasedVersion, withDate } from '../../../scripts/lib/changelog.mjs';

const CHANGELOG = `# Changelog

## 0.2.0 - unreleased

### Added

- A thing.

## 0.1.0 - 2026-11-30

- The first.
`;

describe('the changelog', () => {
  it('names the next version until its release', () => {
    expect(unreleasedVersion(CHANGELOG)).toBe('0.2.0');
    expect(unreleasedVersion(withDate(CHANGELOG, '2026-12-24'))).toBeUndefined();
  });

  it('has the notes of a version', () => {
    expect(notesOf(CHANGELOG, '0.2.0')).toBe('### Added\n\n- A thing.');
    expect(notesOf(CHANGELOG, '0.1.0')).toBe('- The first.');
    expect(notesOf(CHANGELOG, '0.3.0')).toBe('');
  });

  it('gets a date at the next version only', () => {
    expect(withDate(CHANGELOG, '2026-12-24')).toBe(CHANGELOG.replace('unreleased', '2026-12-24'));
  });
});
