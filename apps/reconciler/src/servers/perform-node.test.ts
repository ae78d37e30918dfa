import { GardenError, type GardenErrorKind } from '@corral/garden';
import { describe, expect, it } from '@jest/globals';
import { aMember, aNode, ready } from '../../test/support/a-server.js';
import { fakeShoots } from '../../test/support/fake-shoots.js';
import { type GardenReport, gardenGate } from '../garden/gate.js';
import { nothingSeen, type Seen } from './model.js';
import { performNodeStep } from './perform-node.js';

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

describe('a node step', () => {
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
