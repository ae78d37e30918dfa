import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseShoot } from './shoot.js';

const metadata = { name: 'n', namespace: 'ns', uid: 'u', resourceVersion: '1' };

describe('parsing of a Shoot', () => {
  it('reads all fields', () => {
    const shoot = parseShoot({
      metadata: { ...metadata, generation: 7, deletionTimestamp: '2026-08-01T10:00:00Z' },
      spec: { region: 'hel1', hibernation: { enabled: true } },
      status: {
        observedGeneration: 6,
        technicalID: 'shoot--t--c',
        uid: 'status-uid',
        seedName: 'seed-hel',
        clusterIdentity: 'identity',
        hibernated: true,
        lastOperation: {
          type: 'Reconcile',
          state: 'Error',
          progress: 43,
          description: 'words',
          lastUpdateTime: '2026-08-01T10:03:00Z',
        },
        lastErrors: [
          { taskID: 'task', codes: ['ERR_INFRA_QUOTA_EXCEEDED'], description: 'words', lastUpdateTime: 't' },
        ],
        conditions: [
          {
            type: 'EveryNodeReady',
            status: 'Progressing',
            reason: 'R',
            message: 'M',
            codes: ['C'],
            lastTransitionTime: 't1',
            lastUpdateTime: 't2',
          },
        ],
        constraints: [{ type: 'HibernationPossible', status: 'True' }],
        advertisedAddresses: [{ name: 'external', url: 'https://api.c.example' }],
        retryCycleStartTime: 't3',
        migrationStartTime: null,
      },
    });

    expect(shoot).toMatchObject({
      metadata: { generation: 7, deletionTimestamp: '2026-08-01T10:00:00Z' },
      spec: { region: 'hel1', hibernation: { enabled: true } },
      status: {
        observedGeneration: 6,
        technicalID: 'shoot--t--c',
        seedName: 'seed-hel',
        hibernated: true,
        lastOperation: { type: 'Reconcile', state: 'Error', progress: 43 },
        lastErrors: [{ taskID: 'task', codes: ['ERR_INFRA_QUOTA_EXCEEDED'] }],
        conditions: [{ type: 'EveryNodeReady', status: 'Progressing', codes: ['C'] }],
        constraints: [{ type: 'HibernationPossible', status: 'True', reason: '', codes: [] }],
        advertisedAddresses: [{ name: 'external', url: 'https://api.c.example' }],
        retryCycleStartTime: 't3',
        migrationStartTime: null,
      },
    });
  });

  it.each(['name', 'namespace', 'uid', 'resourceVersion'])('rejects a Shoot without %s', (key) => {
    expect(parseShoot({ metadata: { ...metadata, [key]: undefined } })).toBeNull();
    expect(parseShoot({ metadata: { ...metadata, [key]: '' } })).toBeNull();
    expect(parseShoot({ metadata: { ...metadata, [key]: 5 } })).toBeNull();
  });

  it('accepts any spec and status, and always returns the same shape', () => {
    const shape = (value: object) => Object.keys(value).sort();
    const empty = parseShoot({ metadata });

    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.dictionary(fc.constantFrom(...Object.keys(empty?.status ?? {})), fc.jsonValue()),
        (spec, status) => {
          const shoot = parseShoot(JSON.parse(JSON.stringify({ metadata, spec, status })));

          expect(shape(shoot?.status ?? {})).toEqual(shape(empty?.status ?? {}));
          expect(typeof shoot?.spec).toBe('object');
          for (const list of ['lastErrors', 'conditions', 'constraints', 'advertisedAddresses'] as const) {
            expect(Array.isArray(shoot?.status[list])).toBe(true);
          }
        },
      ),
    );
  });
});
