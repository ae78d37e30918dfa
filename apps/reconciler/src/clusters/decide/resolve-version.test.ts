import type { CatalogueVersion } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { noon } from '../../../test/support/a-cluster.js';
import { isPinDue, resolveVersion, VersionUnavailable } from './resolve-version.js';

const offered = (version: string, classification = 'supported', expirationDate: string | null = null) => ({
  version,
  classification,
  expirationDate,
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
    ['resolves a minor to its newest patch that is neither preview nor expired', '1.34', null, '1.34.10'],
    ['resolves a minor exactly and not by prefix', '1.3', null, '1.3.99'],
    ['resolves a full version to itself, offered or not', '1.34.2', null, '1.34.2'],
    ['follows the running version when that is a newer patch', '1.34', '1.34.14', '1.34.14'],
    ['follows the running version when maintenance raised the minor', '1.34', '1.35.0', '1.35.0'],
    ['never goes below the running version, even for a full version', '1.34.2', '1.34.5', '1.34.5'],
    ['is raised above the running version', '1.35', '1.34.3', '1.35.0'],
    ['resolves an expired minor to the running patch', '1.33', '1.33.7', '1.33.7'],
  ])('%s', (_, declared, running, resolved) => {
    expect(resolveVersion(declared, catalogue, running, noon)).toBe(resolved);
  });

  it('fails when the catalogue offers no patch of it', () => {
    expect(() => resolveVersion('1.33', catalogue, null, noon)).toThrow(VersionUnavailable);
    expect(() => resolveVersion('1.40', catalogue, '1.35.0', noon)).toThrow(VersionUnavailable);
  });
});

describe('pinning', () => {
  it.each([
    ['is due when no version is pinned', '1.34', null, null, true],
    ['is not due for a patch of the declared minor', '1.34', '1.34.3', '1.34.3', false],
    ['is due when another version was declared', '1.35', '1.34.3', '1.34.3', true],
    ['is not due when the pinned patch is declared in full', '1.34.3', '1.34.3', '1.34.3', false],
    ['is due when maintenance raised the patch', '1.34', '1.34.3', '1.34.5', true],
    ['is not due once the raised version is pinned', '1.34', '1.35.0', '1.35.0', false],
    ['is due when the pinned version is neither declared nor running', '1.34', '1.35.0', '1.34.3', true],
  ])('%s', (_, declared, pinned, running, isDue) => {
    expect(isPinDue(declared, pinned, running)).toBe(isDue);
  });

  it('is never due directly after a pin', () => {
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
