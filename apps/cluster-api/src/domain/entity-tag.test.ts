import { describe, expect, it } from '@jest/globals';
import { aCluster } from '../../test/support/a-cluster.js';
import { refusalOf } from '../../test/support/refusal.js';
import { checkPreconditions, type EntityTags, entityTagOf } from './entity-tag.js';

const cluster = aCluster();
const tag = entityTagOf(cluster);

describe('the entity tag', () => {
  it('changes with the revision, and is another one for a later cluster of the same name', () => {
    const tags = [cluster, aCluster({ revision: 10 }), aCluster({ id: '0197b2f0-0000-7000-8000-00000000c1c2' })];

    expect(new Set(tags.map(entityTagOf)).size).toBe(3);
  });
});

describe('the preconditions of a change', () => {
  it.each<[string, EntityTags | null, EntityTags | null, boolean]>([
    ['no header', null, null, true],
    ['the present tag', [tag], null, true],
    ['the present tag among others', ['other', tag], null, true],
    ['any tag', '*', null, true],
    ['another tag', ['other'], null, false],
    ['no tag at all', [], null, false],
    ['that there be none', null, '*', false],
    ['that it not be the present one', null, [tag], false],
    ['that it not be another one', null, ['other'], true],
  ])('with %s', (_what, ifMatch, ifNoneMatch, holds) => {
    const refusal = refusalOf(() => checkPreconditions({ ifMatch, ifNoneMatch }, cluster));

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
