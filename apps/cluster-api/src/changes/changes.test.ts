import { asClusterId } from '@corral/contracts';
import type { Prisma } from '@corral/database';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { aCluster } from '../../test/support/a-cluster.js';
import { refusalOf } from '../../test/support/refusal.js';
import { checkPreconditions, type EntityTags, entityTagOf, poolTagOf } from './entity-tag.js';
import { teamChanges } from './team-changes.js';

describe('entity tags', () => {
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
});

describe('a change that waits in vain', () => {
  const scope = { signal: new AbortController().signal, deadline: Number.POSITIVE_INFINITY };
  const WAIT_MS = 10_000;

  /** A queue whose only connection is taken forever. */
  function occupied(limits: { waitingPerTeam?: number; waitingPerProcess?: number }) {
    const changes = { waitingPerTeam: 64, waitingPerProcess: 512, waitMs: WAIT_MS, ...limits };
    const { runQueued } = teamChanges({} as Prisma, changes, 1);
    void runQueued('acme', scope, () => new Promise(() => undefined));
    return (team: string) => runQueued(team, scope, async () => 'done');
  }

  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('is refused when too many changes of its team wait', async () => {
    await expect(occupied({ waitingPerTeam: 0 })('acme')).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      status: 429,
      retryAfterSeconds: 2,
      detail:
        'Nothing was changed: the team already has 0 waiting changes, which is the limit. Repeat the request after the time in Retry-After, and send fewer changes at the same time.',
    });
  });

  it('is refused when earlier changes of its team are too slow', async () => {
    const refused = expect(occupied({})('acme')).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      status: 429,
      retryAfterSeconds: 10,
      detail:
        'Nothing was changed: earlier changes of the team did not finish within 10 s. Repeat the request after the time in Retry-After, and send fewer changes at the same time.',
    });

    jest.advanceTimersByTime(WAIT_MS);

    await refused;
  });

  it.each(['full', 'slow'])('is refused when other teams occupy the process: %s', async (why) => {
    const change = occupied(why === 'full' ? { waitingPerProcess: 0 } : {});
    const refused = expect(change('globex')).rejects.toMatchObject({
      code: 'service_unavailable',
      status: 503,
      retryAfterSeconds: why === 'full' ? 2 : 10,
      detail:
        'Nothing was changed: too many changes of all teams are waiting. Repeat the request after the time in Retry-After.',
    });

    jest.advanceTimersByTime(WAIT_MS);

    await refused;
  });
});
