import { describe, expect, it } from '@jest/globals';
import { aCluster } from '../../test/support/a-cluster.js';
import { refusalOf } from '../../test/support/refusal.js';
import { checkPreconditions, type EntityTags, entityTagOf, poolTagOf } from './entity-tag.js';

const cluster = aCluster();
const tag = entityTagOf(cluster);

describe('the entity tag', () => {
  it('changes with the revision, and is another one for a later cluster of the same name', () => {
    const another = aCluster({ id: '0197b2f0-0000-7000-8000-00000000c1c2' });
    const tags = [cluster, aCluster({ revision: 10 }), aCluster({ generation: 5 }), another];

    expect(new Set(tags.map(entityTagOf)).size).toBe(4);
  });

  it('of a managed pool is that of its cluster', () => {
    expect(poolTagOf(cluster, { name: 'general' })).toBe(tag);
  });

  it('of a pool on adopted servers changes with its ready nodes, too', () => {
    const tagWith = (ready: number, revision = 9) =>
      poolTagOf(aCluster({ revision, backingReady: new Map([['own', ready]]) }), { name: 'own' });

    expect(new Set([tag, tagWith(0), tagWith(1), tagWith(1, 10)]).size).toBe(4);
    expect(tagWith(1)).toBe(tagWith(1));
  });
});

describe('the preconditions of a change', () => {
  it.each<[string, EntityTags | null, EntityTags | null, boolean]>([
    ['no header', null, null, true],
    ['the present tag', [tag], null, true],
    ['the present tag among others', ['other', tag], null, true],
    ['any tag', '*', null, true],
    ['a tag of the same declaration, seen otherwise', [entityTagOf({ ...cluster, revision: 3 })], null, true],
    ['a tag of another declaration', [entityTagOf({ ...cluster, generation: 3 })], null, false],
    ['that it not be as it was seen before', null, [entityTagOf({ ...cluster, revision: 3 })], true],
    ['another tag', ['other'], null, false],
    ['no tag at all', [], null, false],
    ['that there be none', null, '*', false],
    ['that it not be the present one', null, [tag], false],
    ['that it not be another one', null, ['other'], true],
  ])('with %s', (_what, ifMatch, ifNoneMatch, holds) => {
    const refusal = refusalOf(() => checkPreconditions({ ifMatch, ifNoneMatch }, tag));

    expect(refusal).toEqual(holds ? null : ['precondition_failed']);
  });

  it.each<[string, EntityTags | null, EntityTags | null, boolean]>([
    ['any tag', '*', null, false],
    ['some tag', [tag], null, false],
    ['that there be none', null, '*', true],
  ])('with %s, for what is absent', (_what, ifMatch, ifNoneMatch, holds) => {
    const refusal = refusalOf(() => checkPreconditions({ ifMatch, ifNoneMatch }, null));

    expect(refusal).toEqual(holds ? null : ['precondition_failed']);
  });
});
