import type { DnsCaller } from '@corral/auth';
import type { ActionRecord } from '@corral/dns-mirror';
import { describe, expect, it } from '@jest/globals';
import { actionProgress, givenUp } from './action-progress.js';

const caller: DnsCaller = {
  ...{ tokenId: 't', kind: 'team', ownerId: 'team', ownerLabel: 'acme', teamId: 'team', accountId: 'team' },
  ...{ scopes: ['dns'], withinName: null, withinTypes: [], expiresAt: null },
};
const NOW = Date.parse('2026-01-02T03:04:05Z');
const running: ActionRecord = {
  id: 880001,
  status: 'running',
  ...{ name: 'www.acme', type: 'A' },
  body: '{"id":880001,"status":"running","progress":10,"finished":null,"error":null,"later":{"field":1.0}}',
  startedAt: new Date(NOW - 5_000),
  checkedAt: new Date(NOW - 5_000),
};

describe('following an action', () => {
  it('answers with what was last known when the upstream takes longer than clients wait', async () => {
    const progress = actionProgress({
      store: { findActions: async () => [running], recordActions: async () => undefined },
      follow: () => ({ told: new Promise(() => undefined), stop: () => undefined }),
      pause: async () => undefined,
      now: () => NOW,
      pollIntervalMs: 1_000,
      runningMsMax: 60_000,
    });

    expect(await progress.find(caller, [running.id])).toEqual([running]);
  });
});

describe('an action that is given up', () => {
  it('ends in an error and keeps every other member', () => {
    const { status, body } = givenUp(running, new Date(NOW));

    expect(status).toBe('error');
    expect(JSON.parse(body)).toMatchObject({
      ...{ id: 880001, status: 'error', progress: 10, finished: '2026-01-02T03:04:05.000Z', later: { field: 1 } },
      error: { code: 'timeout' },
    });
  });
});
