import { asClusterId } from '@corral/contracts';
import { describe, expect, it } from '@jest/globals';
import { aCluster } from '../../test/support/a-cluster.js';
import { refusalOf } from '../../test/support/refusal.js';
import { checkPreconditions, type EntityTags, entityTagOf, poolTagOf } from './entity-tag.js';

const cluster = aCluster();
const tag = entityTagOf(cluster);

describe('the entity tag', () => {
  it('changes with the revision and differs for a later cluster of the same name', () => {
    const another = aCluster({ id: asClusterId('0197b2f0-0000-7000-8000-00000000c1c2') });
    const tags = [cluster, aCluster({ revision: 10 }), aCluster({ generation: 5 }), another];

    expect(new Set(tags.map(entityTagOf)).size).toBe(4);
  });

  it('of a managed pool is that of its cluster', () => {
    expect(poolTagOf(cluster, { name: 'general' })).toBe(tag);
  });

  it('of a pool on adopted servers also changes with its ready nodes', () => {
    const tagWith = (ready: number, revision = 9) =>
      poolTagOf(aCluster({ revision, backingReady: new Map([['own', ready]]) }), { name: 'own' });

    expect(new Set([tag, tagWith(0), tagWith(1), tagWith(1, 10)]).size).toBe(4);
    expect(tagWith(1)).toBe(tagWith(1));
  });
});

describe('the preconditions of a change', () => {
  it.each<[string, EntityTags | null, EntityTags | null, boolean]>([
    ['no header', null, null, true],
    ['If-Match: the current tag', [tag], null, true],
    ['If-Match: the current tag among others', ['other', tag], null, true],
    ['If-Match: *', '*', null, true],
    [
      'If-Match: a tag of the same declaration but another status',
      [entityTagOf({ ...cluster, revision: 3 })],
      null,
      true,
    ],
    ['If-Match: a tag of another declaration', [entityTagOf({ ...cluster, generation: 3 })], null, false],
    ['If-None-Match: a tag of an earlier status', null, [entityTagOf({ ...cluster, revision: 3 })], true],
    ['If-Match: another tag', ['other'], null, false],
    ['If-Match: an empty list', [], null, false],
    ['If-None-Match: *', null, '*', false],
    ['If-None-Match: the current tag', null, [tag], false],
    ['If-None-Match: another tag', null, ['other'], true],
  ])('are checked with %s', (_what, ifMatch, ifNoneMatch, holds) => {
    const refusal = refusalOf(() => checkPreconditions({ ifMatch, ifNoneMatch }, tag));

    expect(refusal).toEqual(holds ? null : ['precondition_failed']);
  });

  it.each<[string, EntityTags | null, EntityTags | null, boolean]>([
    ['If-Match: *', '*', null, false],
    ['If-Match: a tag', [tag], null, false],
    ['If-None-Match: *', null, '*', true],
  ])('are checked with %s on a missing resource', (_what, ifMatch, ifNoneMatch, holds) => {
    const refusal = refusalOf(() => checkPreconditions({ ifMatch, ifNoneMatch }, null));

    expect(refusal).toEqual(holds ? null : ['precondition_failed']);
  });
});
