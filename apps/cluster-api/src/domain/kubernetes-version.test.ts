import { describe, expect, it } from '@jest/globals';
import { aCatalogue, NOW } from '../../test/support/a-cluster.js';
import { resolveVersion, upgradeObstacle } from './kubernetes-version.js';

const { kubernetesVersions } = aCatalogue();

describe('a declared version', () => {
  it.each<[string, string | null, string]>([
    ['1.33', '1.33.10', 'the newest patch, by number and not by text, that is no preview'],
    ['1.33.4', '1.33.4', 'itself'],
    ['1.32', '1.32.8', 'a deprecated one that has not expired'],
    ['1.35.0', '1.35.0', 'a preview by its full name'],
    ['1.35', null, 'nothing where there are previews only'],
    ['1.31', null, 'nothing where all have expired'],
    ['1.31.9', null, 'nothing when it has expired'],
    ['1.3', null, 'nothing, rather than a version that begins alike'],
    ['1.33.1', null, 'nothing, rather than a version that begins alike'],
    ['9.9', null, 'nothing when it is unknown'],
  ])('%s stands for %s: %s', (declared, resolved, _why) => {
    expect(resolveVersion(declared, kubernetesVersions, NOW)).toBe(resolved);
  });
});

describe('going from one version to another', () => {
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
