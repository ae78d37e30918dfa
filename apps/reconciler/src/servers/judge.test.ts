import { GardenError, type GardenErrorKind } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import { ago, aMember, aNode, now, ready, times } from '../../test/support/a-server.js';
import { fakeShoots } from '../../test/support/fake-shoots.js';
import { type GardenReport, gardenGate } from '../garden/gate.js';
import { judgeClusterFailure, judgeProviderFailure } from './judge.js';
import { nothingSeen, type Seen, type Step, type WantedServer } from './model.js';
import { performNodeStep } from './perform.js';

describe('failures of the provider', () => {
  const context = (wanted: WantedServer) => ({ wanted, now, times, random: 0 });
  const verdictOf = (wanted: WantedServer, kind: GardenErrorKind, step: Step['do'] = 'readNode') =>
    judgeClusterFailure(context(wanted), step, {
      kind: 'unanswered',
      error: new GardenError(kind, 'shoot garden-t1/c1'),
    });
  const kinds: GardenErrorKind[] = [
    'unreachable',
    'uncertain',
    'throttled',
    'credentials',
    'rbac',
    'refused',
    'stale_reference',
    'conflict',
    'exists',
    'not_found',
    'expired',
    'server_error',
    'unusable',
  ];

  describe('a cluster that did not perform a step', () => {
    it.each(kinds)('is retried after %s, without its wording in the message', (kind) => {
      for (const phase of ['Joining', 'Joined', 'Leaving'] as const) {
        const verdict = verdictOf(aMember(phase), kind);
        expect(verdict).toMatchObject({ phase, operation: { to: 'stay' }, hasLeftCluster: false });
        expect(verdict.nextPassMs).toBeGreaterThanOrEqual(1_000);
        expect(verdict.message).not.toContain('c1');
      }
    });

    it.each<[GardenErrorKind, boolean | null]>([
      ['unreachable', false],
      ['not_found', false],
      ['throttled', null],
      ['credentials', null],
    ])('sets nodeReady after %s as far as it is known', (kind, nodeReady) => {
      expect(verdictOf(aMember('Joined'), kind)).toMatchObject({ nodeReady, nextPassMs: 60_000 });
    });

    it.each([
      ['garden', false],
      ['cluster', true],
    ])(
      'is retried with the words of a policy of the %s, or the name of its webhook that is dead',
      (place, fromShoot) => {
        const messageOf = (error: GardenError) =>
          judgeClusterFailure(context(aMember('Leaving')), 'cordon', { kind: 'unanswered', error }).message;
        const denial = { by: 'freeze', words: 'not in December' };

        expect(messageOf(new GardenError('refused', 'patch nodes', { denial, fromShoot }))).toBe(
          `The policy freeze of the ${place} refuses work on the node: not in December.`,
        );
        expect(
          messageOf(new GardenError('webhook_unavailable', 'patch nodes', { webhook: 'own.example.org', fromShoot })),
        ).toBe(`The admission webhook own.example.org of the ${place} does not answer. The service retries.`);
      },
    );

    it('is retried with growing delays', () => {
      const waits = [0, 1, 2, 10].map(
        (failures) => verdictOf(aMember('Leaving', { failures }), 'unreachable').nextPassMs,
      );
      expect(waits).toEqual([2_000, 4_000, 8_000, 60_000]);
    });

    it('is retried after Retry-After without counting a failure', () => {
      const error = new GardenError('throttled', 'shoot', { retryAfterSeconds: 7 });
      const verdict = judgeClusterFailure(context(aMember('Leaving')), 'evict', { kind: 'unanswered', error });
      expect(verdict).toMatchObject({ nextPassMs: 9_000, failures: 0 });
    });

    it('reports a missing managed pool', () => {
      expect(verdictOf(aMember('Joining'), 'not_found', 'prepareJoin').message).toContain('no managed pool');
    });

    it('ends a joining, but no leaving, at the time limit', () => {
      const begunAt = ago(1_801);
      expect(verdictOf(aMember('Joining', { begunAt }), 'unreachable')).toMatchObject({
        phase: 'Failed',
        message: expect.stringContaining('(server_join_timeout)'),
        nextPassMs: null,
      });
      expect(verdictOf(aMember('Leaving', { begunAt }), 'unreachable').phase).toBe('Leaving');
    });

    it('is not called while the garden gate is paused', () => {
      const verdict = judgeClusterFailure(context(aMember('Joined', { failures: 2 })), 'readNode', {
        kind: 'paused',
        inMs: 5_000,
      });
      expect(verdict).toMatchObject({ phase: 'Joined', nextPassMs: 5_000, failures: 2, nodeReady: null });
    });
  });

  describe('a provider that refuses a joining or leaving step', () => {
    const refused = (code: string) => ({ kind: 'refused', status: 423, code }) as const;
    const forbidden = { kind: 'credentials_refused', status: 403, code: 'forbidden' } as const;

    it.each(['Joining', 'Leaving'] as const)('ends a %s with its code, without an operation', (phase) => {
      expect(judgeProviderFailure(context(aMember(phase)), 'requestRebuild', refused('protected'))).toMatchObject({
        phase: 'Failed',
        message: expect.stringContaining('(server_protected)'),
        operation: { to: 'stay' },
        nodeReady: false,
      });
    });

    it.each(['Joining', 'Leaving'] as const)('keeps a %s waiting during a lock, and for a valid token', (phase) => {
      expect(judgeProviderFailure(context(aMember(phase)), 'requestRebuild', refused('locked'))).toMatchObject({
        phase,
      });
      expect(judgeProviderFailure(context(aMember(phase)), 'requestRebuild', forbidden)).toMatchObject({
        phase,
        doubtsToken: true,
      });
    });

    it('fails a joining without the server, but not a leaving', () => {
      expect(judgeProviderFailure(context(aMember('Joining')), 'requestRebuild', { kind: 'absent' }).phase).toBe(
        'Failed',
      );
      expect(judgeProviderFailure(context(aMember('Leaving')), 'requestRebuild', { kind: 'absent' }).phase).toBe(
        'Leaving',
      );
    });
  });
});

describe('a node step', () => {
  const node = { shoot: { namespace: 'garden-t1', name: 'c1' }, name: 'web' };

  function aGarden() {
    const shoots = fakeShoots();
    const shoot = shoots.add('c1');
    const inner = gardenGate({ places: 4, random: () => 0 });
    const words: (GardenReport | null)[] = [];
    const gate: typeof inner = {
      ...inner,
      async enter(key, signal) {
        const leave = await inner.enter(key, signal);
        return (report) => {
          words.push(report);
          leave(report);
        };
      },
    };
    const deps = { nodes: shoots.nodes, gate, renderJoinUserData: () => '#cloud-config' };
    const context = (seen: Seen) => ({ wanted: aMember('Leaving'), seen, signal: new AbortController().signal });
    return { shoots, shoot, deps, context, words, gate };
  }

  const throwing = (kind: GardenErrorKind) => async () => {
    throw new GardenError(kind, 'shoot');
  };

  it('discards the actions after join data, so that the request time is read again', async () => {
    const { deps, context } = aGarden();
    const performed = await performNodeStep(deps, context(ready), { do: 'prepareJoin', node });
    expect(performed).toMatchObject({ kind: 'done', seen: { joinUserData: '#cloud-config', actions: null } });
  });

  it('deletes the token when the joining has ended', async () => {
    const { deps, context, shoot } = aGarden();
    await performNodeStep(deps, context(ready), { do: 'prepareJoin', node });
    expect([...shoot.tokens]).toEqual(['web']);

    const performed = await performNodeStep(deps, context(nothingSeen), { do: 'endJoin', node });

    expect(performed).toMatchObject({ kind: 'done', seen: { joinEndedIn: 1 } });
    expect([...shoot.tokens]).toEqual([]);
  });

  it('treats unusable join data as no answer', async () => {
    const { deps, context } = aGarden();
    const renderJoinUserData = () => {
      throw new TypeError('No server can join with this server.');
    };
    const performed = await performNodeStep({ ...deps, renderJoinUserData }, context(ready), {
      do: 'prepareJoin',
      node,
    });
    expect(performed).toMatchObject({ kind: 'unanswered', error: { kind: 'unusable' } });
  });

  it.each(['cordon', 'evict'] as const)('discards a node that disappeared before %s', async (step) => {
    const { deps, context } = aGarden();
    const seen = { ...nothingSeen, node: aNode(), podsLeft: 2 };
    const performed = await performNodeStep(deps, context(seen), { do: step, node });
    expect(performed).toMatchObject({ kind: 'done', seen: { node: null, podsLeft: null } });
  });

  it.each<[GardenErrorKind, GardenReport | null]>([
    ['throttled', { kind: 'throttled', retryAfterMs: null }],
    ['credentials', { kind: 'locked' }],
    ['unreachable', null],
    ['server_error', null],
  ])('reports %s to the garden gate as far as it concerns the garden', async (kind, report) => {
    const { deps, context, words } = aGarden();
    const nodes = { ...deps.nodes, readNode: throwing(kind) };
    await performNodeStep({ ...deps, nodes }, context(nothingSeen), { do: 'readNode', node });
    expect(words).toEqual([report]);
  });

  it('does not report a Shoot’s own answer to the garden gate', async () => {
    const { deps, context, words } = aGarden();
    const readNode = () => Promise.reject(new GardenError('credentials', 'shoot', { fromShoot: true }));
    await performNodeStep({ ...deps, nodes: { ...deps.nodes, readNode } }, context(nothingSeen), {
      do: 'readNode',
      node,
    });
    expect(words).toEqual([null]);
  });

  it('is skipped while the garden gate is paused', async () => {
    const { deps, context, words } = aGarden();
    const nodes = { ...deps.nodes, readNode: throwing('credentials') };
    await performNodeStep({ ...deps, nodes }, context(nothingSeen), { do: 'readNode', node });

    const performed = await performNodeStep(deps, context(nothingSeen), { do: 'readNode', node });

    expect(performed).toMatchObject({ kind: 'paused' });
    expect(words).toHaveLength(1);
  });

  it('rethrows errors that are not from the garden', async () => {
    const { deps, context } = aGarden();
    const nodes = { ...deps.nodes, readNode: () => Promise.reject(new Error('a bug')) };
    await expect(performNodeStep({ ...deps, nodes }, context(nothingSeen), { do: 'readNode', node })).rejects.toThrow(
      'a bug',
    );
  });
});
