import type { WriteLease } from '@corral/dns-data';
import { UpstreamUnavailable } from '@corral/hcloud';
import { describe, expect, it } from '@jest/globals';
import type { Services } from '../services.js';
import { settleOwn, type UnknownWrite } from './settling.js';

const found = '{"ttl":60,"labels":{},"records":[{"value":"192.0.2.1"}]}';
const write: UnknownWrite = {
  key: { zoneId: 7001, name: 'www.acme', type: 'A' },
  write: { operation: 'change_ttl', ttl: 60 },
  bytes: Buffer.from('{"ttl":60}'),
  scope: { signal: new AbortController().signal },
};
const owner = { kind: 'team', id: 'acme', teamId: null } as const;
const lease: WriteLease = { entryId: 1, fence: 1, owner, operation: 'set_records', current: null, recordsMax: 1 };

/** Time passes only in pauses. */
function start(of: { read?: () => Promise<string | null>; settlements?: Partial<Services['settlements']> } = {}) {
  let now = 0;
  const readAt: number[] = [];
  const settled: unknown[] = [];
  const settlements: Partial<Services['settlements']> = {
    settle: async (due, { applied }) => settled.push({ fence: due.fence, applied }) > 0,
    renew: async () => undefined,
    findSettled: async () => null,
    ...of.settlements,
  };
  const read = async () => {
    readAt.push(now);
    return found;
  };
  const services = {
    settlements,
    read: of.read ?? read,
    pause: async (ms: number) => {
      now += ms;
    },
    now: () => now,
    log: { warn: () => undefined },
    config: { settleAfterMs: 2_000, settleWithinMs: 5_000, settleGraceMs: 60_000 },
  } as unknown as Services;
  return { settle: (unknown = write) => settleOwn(services, unknown, lease), readAt, settled };
}

describe('a write of this process whose outcome is unknown', () => {
  it('is read after the time that the upstream may still need', async () => {
    const { settle, readAt, settled } = start();

    expect(await settle()).toMatchObject({ applied: true, found });

    expect(readAt).toEqual([2_000]);
    expect(settled).toEqual([{ fence: 1, applied: true }]);
  });

  it('is read repeatedly until the upstream answers', async () => {
    let failures = 3;
    const read = async () => {
      failures -= 1;
      if (failures >= 0) throw new UpstreamUnavailable('away');
      return null;
    };

    expect(await start({ read }).settle()).toMatchObject({ applied: false, found: null });
  });

  it('is given up when the upstream stays unavailable for longer than a client waits', async () => {
    let reads = 0;
    const read = async () => {
      reads += 1;
      throw new UpstreamUnavailable('away');
    };

    expect(await start({ read }).settle()).toBeNull();
    expect(reads).toBe(10);
  });

  it('is not read after its client has disconnected', async () => {
    const { settle, readAt } = start();

    expect(await settle({ ...write, scope: { signal: AbortSignal.abort() } })).toBeNull();
    expect(readAt).toEqual([]);
  });

  it('has the outcome found by another process that took it over', async () => {
    const outcome = { applied: true, found, at: new Date() };
    const { settle } = start({ settlements: { settle: async () => false, findSettled: async () => outcome } });

    expect(await settle()).toBe(outcome);
  });
});
