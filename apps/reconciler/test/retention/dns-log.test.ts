import { retentionRules } from '@corral/database';
import { deleteRows } from '@corral/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ClusterRows, openClusterRows } from '../support/cluster-rows.js';
import { oldRows, smallSteps, sweep } from './support.js';

let at: ClusterRows;
let given: ReturnType<typeof oldRows>;
let teamId: string;
let tokenId: string;
beforeAll(async () => {
  at = await openClusterRows();
  given = oldRows(at.pool);
});
afterAll(() => at.close());
beforeEach(async () => {
  await deleteRows(at.pool);
  await given.zone();
  teamId = await given.team();
  tokenId = await given.token(teamId);
});

const ids = async (table: string): Promise<unknown[]> =>
  (await at.pool.query(`SELECT id FROM ${table} ORDER BY id`)).rows.map(({ id }) => id);

describe('entries of the DNS audit log', () => {
  it('are deleted with their actions only after the retention of the audit log', async () => {
    const young = await given.entry(teamId, tokenId, '399 days');
    await given.action(young, teamId, '399 days');
    for (const age of ['401 days', '402 days', '500 days']) {
      await given.action(await given.entry(teamId, tokenId, age), teamId, age);
    }

    expect(await sweep(at.pool)).toEqual({ dns_actions: 3, dns_audit_entries: 3 });

    expect([await ids('dns_audit_entry'), await ids('dns_action')]).toEqual([[young], [young]]);
    expect(await ids('dns_token')).toEqual([tokenId]);
  });

  it('stay at any age while their outcome is unknown or their recheck is pending', async () => {
    const kept = [
      await given.entry(teamId, tokenId, '5 years', { state: 'pending' }),
      await given.entry(teamId, tokenId, '5 years', { state: 'settled', recheckAt: 'now' }),
    ];
    await given.entry(teamId, tokenId, '5 years', { state: 'settled' });

    expect(await sweep(at.pool)).toEqual({ dns_audit_entries: 1 });

    expect(await ids('dns_audit_entry')).toEqual(kept);
  });

  it('are deleted once by two concurrent sweeps', async () => {
    for (let entry = 0; entry < 12; entry += 1) await given.entry(teamId, tokenId, '401 days');

    const both = await Promise.all([sweep(at.pool), sweep(at.pool)]);

    const taken = both.map((swept) => swept.dns_audit_entries ?? 0);
    expect((taken[0] ?? 0) + (taken[1] ?? 0)).toBe(12);
  });

  it('are kept for the configured number of days', async () => {
    await given.entry(teamId, tokenId, '8 days');

    expect(await sweep(at.pool, { rules: retentionRules({ auditDays: 9 }) })).toEqual({});
    expect(await sweep(at.pool, { rules: retentionRules({ auditDays: 7 }) })).toEqual({ dns_audit_entries: 1 });
  });
});

describe('ended demos', () => {
  it('are deleted with their tokens after their last audit entry', async () => {
    const young = await given.demo(teamId, '399 days');
    for (const age of ['401 days', '402 days', '403 days']) await given.demo(teamId, age);

    expect(await sweep(at.pool)).toEqual({ dns_audit_entries: 3, demo_tokens: 3, demos: 3 });

    expect(await ids('demo')).toEqual([young.id]);
    expect(new Set(await ids('dns_token'))).toEqual(new Set([tokenId, young.tokenId]));
  });

  it('stay while an audit entry refers to them', async () => {
    const { entryId } = await given.demo(teamId, '500 days');
    await at.pool.query('UPDATE dns_audit_entry SET created_at = now() WHERE id = $1', [entryId]);

    expect(await sweep(at.pool)).toEqual({});
  });
});

describe('a sweep', () => {
  it('sweeps the other tables when one fails, and fails afterwards', async () => {
    await given.entry(teamId, tokenId, '401 days');
    const [first, ...others] = smallSteps();
    const rules = [{ ...(first as (typeof others)[number]), since: 'no_such_column' }, ...others];

    await expect(sweep(at.pool, { rules })).rejects.toMatchObject({ code: '42703' });

    expect(await ids('dns_audit_entry')).toEqual([]);
  });

  it('finds old rows by an index in every table that grows with use', async () => {
    const { rows } = await at.pool.query<{ table: string; column: string }>(
      `SELECT DISTINCT indrelid::regclass::text AS table, attname AS column
       FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]`,
    );
    const indexed = new Set(rows.map(({ table, column }) => `${table}.${column}`));
    const scanned = smallSteps().filter(({ table, since }) => !indexed.has(`${table}.${since}`));

    expect(scanned.map(({ name }) => name)).toEqual(['sessions', 'invitations', 'sync_runs']);
  });
});
