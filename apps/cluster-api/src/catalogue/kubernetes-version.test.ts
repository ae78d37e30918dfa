import { describe, expect, it } from '@jest/globals';
import { aCatalogue, NOW } from '../../test/support/a-cluster.js';
import { upgradeObstacle } from './catalogue-rules.js';
import { resolveVersion } from './offers.js';

const { kubernetesVersions } = aCatalogue();

describe('a declared version', () => {
  it.each<[string, string | null, string]>([
    ['1.33', '1.33.10', 'the newest patch in numeric order that is not a preview'],
    ['1.33.4', '1.33.4', 'itself'],
    ['1.32', '1.32.8', 'a deprecated version that has not expired'],
    ['1.35.0', '1.35.0', 'a preview named in full'],
    ['1.35', null, 'nothing when all patches are previews'],
    ['1.31', null, 'nothing when all patches have expired'],
    ['1.31.9', null, 'nothing when it has expired'],
    ['1.3', null, 'nothing, although 1.31 starts with the same text'],
    ['1.33.1', null, 'nothing, although 1.33.10 starts with the same text'],
    ['9.9', null, 'nothing when it is unknown'],
  ])('%s resolves to %s: %s', (declared, resolved, _why) => {
    expect(resolveVersion(declared, kubernetesVersions, NOW)).toBe(resolved);
  });
});

describe('a change of version', () => {
  it.each([
    ['1.33.4', '1.33.4', null],
    ['1.33.4', '1.33.10', null],
    ['1.33.4', '1.34.2', null],
    ['1.33.10', '1.33.4', /downgrades are not supported/],
    ['1.34.0', '1.33.10', /downgrades are not supported/],
    ['1.33.4', '1.35.0', /one minor version at a time/],
    ['1.33.4', '2.0.0', /one minor version at a time/],
  ])('%s to %s', (from, to, obstacle) => {
    if (obstacle === null) expect(upgradeObstacle(from, to)).toBeNull();
    else expect(upgradeObstacle(from, to)).toMatch(obstacle);
  });
});
