import type { CatalogueVersion } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { noon } from '../../test/support/a-cluster.js';
import { isPinDue, resolveVersion, VersionUnavailable } from './resolve-version.js';

const offered = (version: string, classification = 'supported', expirationDate: string | null = null) => ({
  ...{ version, classification, expirationDate },
});
const catalogue: CatalogueVersion[] = [
  offered('1.34.10'),
  offered('1.34.9', 'deprecated', '2027-01-01T00:00:00Z'),
  offered('1.34.11', 'preview'),
  offered('1.34.12', 'unavailable'),
  offered('1.34.13', 'supported', '2026-11-21T12:00:00Z'),
  offered('1.35.0'),
  offered('1.3.99'),
  offered('1.33.7', 'deprecated', '2026-11-20T00:00:00Z'),
];

describe('a declared version', () => {
  it.each([
    ['of a minor is its newest patch that is neither a preview nor expired', '1.34', null, '1.34.10'],
    ['of a minor is not that of another one with the same beginning', '1.3', null, '1.3.99'],
    ['stays when it is a full one, offered or not', '1.34.2', null, '1.34.2'],
    ['follows what runs when that is a newer patch', '1.34', '1.34.14', '1.34.14'],
    ['follows what runs when maintenance went past it', '1.34', '1.35.0', '1.35.0'],
    ['never goes below what runs, though it is a full one', '1.34.2', '1.34.5', '1.34.5'],
    ['is raised above what runs', '1.35', '1.34.3', '1.35.0'],
    ['of a minor that has expired is the patch that runs', '1.33', '1.33.7', '1.33.7'],
  ])('%s', (_, declared, running, resolved) => {
    expect(resolveVersion(declared, catalogue, running, noon)).toBe(resolved);
  });

  it('has none when the catalogue offers no patch of it', () => {
    expect(() => resolveVersion('1.33', catalogue, null, noon)).toThrow(VersionUnavailable);
    expect(() => resolveVersion('1.40', catalogue, '1.35.0', noon)).toThrow(VersionUnavailable);
  });
});

describe('pinning', () => {
  it.each([
    ['is due when nothing is pinned', '1.34', null, null, true],
    ['is not due for a patch of the declared minor', '1.34', '1.34.3', '1.34.3', false],
    ['is due when another version was declared', '1.35', '1.34.3', '1.34.3', true],
    ['is not due again when the present patch was declared by its full name', '1.34.3', '1.34.3', '1.34.3', false],
    ['is due when maintenance raised the patch', '1.34', '1.34.3', '1.34.5', true],
    ['is not due any more once the raised version is pinned', '1.34', '1.35.0', '1.35.0', false],
    ['is due when what is pinned is neither declared nor what runs', '1.34', '1.35.0', '1.34.3', true],
  ])('%s', (_, declared, pinned, running, isDue) => {
    expect(isPinDue(declared, pinned, running)).toBe(isDue);
  });

  it('is never due again right after it was done', () => {
    const version = fc.tuple(fc.integer({ min: 30, max: 36 }), fc.integer({ min: 0, max: 12 }));
    const full = version.map(([minor, patch]) => `1.${minor}.${patch}`);
    const declared = fc.oneof(
      full,
      version.map(([minor]) => `1.${minor}`),
    );
    fc.assert(
      fc.property(declared, fc.array(full), fc.option(full), (wanted, versions, running) => {
        let pinned: string;
        try {
          pinned = resolveVersion(
            wanted,
            versions.map((each) => offered(each)),
            running,
            noon,
          );
        } catch {
          return;
        }
        expect(isPinDue(wanted, pinned, running)).toBe(false);
      }),
    );
  });
});
