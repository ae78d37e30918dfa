import { describe, expect, it } from '@jest/globals';
import { isUsable, newestPatch, usableVersions } from './versions.js';

describe('versions', () => {
  const now = new Date('2026-11-21T12:00:00Z');
  const offered = (version: string, classification = 'supported', expirationDate: string | null = null) => ({
    version,
    classification,
    expirationDate,
  });
  const catalogue = [
    offered('1.34.9', 'deprecated', '2027-01-01T00:00:00Z'),
    offered('1.34.10'),
    offered('1.34.11', 'preview'),
    offered('1.34.12', 'unavailable'),
    offered('1.34.13', 'supported', '2026-11-21T12:00:00Z'),
    offered('1.34.14', 'expired'),
    offered('1.3.99'),
    offered('1.33.7', 'deprecated', '2026-11-20T00:00:00Z'),
    offered('1.36.0', 'preview'),
    offered('not-a-version'),
  ];

  describe('a minor version', () => {
    it.each<[string, string | null, string]>([
      ['1.34', '1.34.10', 'its newest patch, by number and not by text, that is no preview and has not expired'],
      ['1.3', '1.3.99', 'not for that of another minor that begins alike'],
      ['1.33', null, 'nothing where all have expired'],
      ['1.36', null, 'nothing where there are previews only'],
      ['9.9', null, 'nothing when it is unknown'],
    ])('%s resolves to %s: %s', (minor, patch) => {
      expect(newestPatch(minor, catalogue, now)).toBe(patch);
    });
  });

  describe('a full version', () => {
    it.each([
      ['supported', null, true],
      ['deprecated', '2026-11-21T12:00:01Z', true],
      ['deprecated', '2026-11-21T12:00:00Z', false],
      ['preview', null, true],
      ['expired', null, false],
      ['unavailable', null, false],
      ['of a later garden', null, false],
    ])('that is %s until %s can be selected: %s', (classification, until, usable) => {
      expect(isUsable(offered('1.34.0', classification, until), now)).toBe(usable);
    });

    it('is selected among the usable ones, newest first', () => {
      expect(usableVersions(catalogue, now)).toEqual(['1.36.0', '1.34.11', '1.34.10', '1.34.9', '1.3.99']);
    });
  });
});
