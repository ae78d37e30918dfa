import { asTeamId } from '@corral/contracts';
import { connectPool, type Pool, type Sql, sql, type Transaction } from '@corral/database';
import { createTestDatabase, patientPool, type TestDatabase } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { apiAudit } from '../../src/audit/api-entries.js';
import { dnsAudit } from '../../src/audit/dns-entries.js';
import type { AuditFilters, AuditSource } from '../../src/audit/log.js';

/*
 * How many rows Postgres reads for a page, which does not depend on the speed of the machine. The log has 20,000 entries, of which
 * only the oldest has the rare value that is looked for, so without an index all are read.
 */

const ENTRIES = 20_000;
const READ_MAX = 2_000;
const TEAM = asTeamId('00000000-0000-4000-8000-00000000000a');

let database: TestDatabase;
let pool: Pool;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = connectPool({
    databaseUrl: database.url,
    applicationName: 'test',
    ...patientPool,
    onIdleError: () => undefined,
  });
  await pool.query(`
    INSERT INTO team (id, slug) VALUES ('${TEAM}', 'acme');
    INSERT INTO app_user (id, email) VALUES ('${TEAM}', 'much@acme.test'), (gen_random_uuid(), 'rare@acme.test');
    INSERT INTO dns_zone (id, name, body, synced_at) VALUES (7001, 'example.test', '{}', now());
    INSERT INTO dns_token (team_id, name, hash, scopes)
    SELECT '${TEAM}', name, sha256(name::bytea), '{dns}' FROM unnest('{much,rare}'::text[]) AS name;
    INSERT INTO dns_audit_entry (team_id, actor, token_id, zone_id, name, type, operation, state, created_at)
    SELECT '${TEAM}', 'token', (SELECT id FROM dns_token WHERE name = word), 7001, word,
           CASE word WHEN 'rare' THEN 'CNAME' ELSE 'A' END, CASE word WHEN 'rare' THEN 'delete' ELSE 'create' END,
           CASE word WHEN 'rare' THEN 'refused' ELSE 'completed' END::dns_audit_state, now() + n * interval '1 ms'
    FROM (SELECT n, CASE n WHEN 1 THEN 'rare' ELSE 'much' END AS word FROM generate_series(1, ${ENTRIES}) AS n) AS numbered;
    INSERT INTO audit_entry (team_id, user_id, operator, action, target_kind, target_id, target_name, detail, created_at)
    SELECT '${TEAM}', CASE WHEN n <> 2 THEN (SELECT id FROM app_user WHERE email = word || '@acme.test') END,
           CASE n WHEN 2 THEN 'ada' END,
           CASE word WHEN 'rare' THEN 'kubeconfig.issue' ELSE 'cluster.declare' END, 'Cluster', '${TEAM}', word,
           '{"issued": false}', now() + n * interval '1 ms'
    FROM (SELECT n, CASE n WHEN 1 THEN 'rare' ELSE 'much' END AS word FROM generate_series(1, ${ENTRIES}) AS n) AS numbered;
    ANALYZE`);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

interface PlanNode {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

const rowsRead = (node: PlanNode): number =>
  (node['Relation Name'] === undefined
    ? 0
    : (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']) +
  (node.Plans ?? []).reduce((sum, plan) => sum + rowsRead(plan), 0);

async function readPage(source: AuditSource, filters: Partial<AuditFilters>) {
  let read = 0;
  const counting = {
    async $queryRaw(parts: TemplateStringsArray | Sql, ...given: unknown[]) {
      const { text, values } = 'raw' in parts ? sql(parts, ...given) : parts;
      const { rows } = await pool.query<{ 'QUERY PLAN': readonly [{ Plan: PlanNode }] }>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
        values,
      );
      read += rowsRead((rows[0] as (typeof rows)[number])['QUERY PLAN'][0].Plan);
      return (await pool.query(text, values)).rows;
    },
  } as unknown as Transaction;
  const log = { api: apiAudit, dns: dnsAudit }[source](counting as Parameters<typeof apiAudit>[0]);
  const none = { kind: null, action: null, outcome: null, name: null, type: null, token: null, actor: null };
  const page = await log({
    teamId: TEAM,
    filters: { ...none, from: null, to: null, ...filters },
    after: null,
    limit: 50,
  });
  return { found: page.records.length, read };
}

describe('a page of a long audit log', () => {
  it.each<[string, AuditSource, Partial<AuditFilters>]>([
    ['of a record set', 'dns', { name: 'rare' }],
    ['of a token', 'dns', { token: 'rare' }],
    ['of a type', 'dns', { type: 'CNAME' }],
    ['of a DNS action', 'dns', { action: 'dns.delete' }],
    ['of an outcome of DNS writes', 'dns', { outcome: 'refused' }],
    ['of a token and an outcome', 'dns', { token: 'rare', outcome: 'refused' }],
    ['of a target', 'api', { name: 'rare' }],
    ['of a person', 'api', { actor: 'rare@acme.test' }],
    ['of operators', 'api', { actor: 'operator' }],
    ['of an action', 'api', { action: 'kubeconfig.issue' }],
    ['of a kind', 'api', { kind: 'kubeconfig' }],
    ['of an outcome', 'api', { outcome: 'refused' }],
  ])('%s finds the only entry without reading the others', async (_what, source, filters) => {
    const { found, read } = await readPage(source, filters);

    expect(found).toBe(1);
    expect(read).toBeLessThan(READ_MAX);
  });

  it.each<[string, AuditSource, Partial<AuditFilters>]>([
    ['without filters', 'dns', {}],
    ['without filters', 'api', {}],
    ['of what most entries have', 'dns', { outcome: 'completed', type: 'A' }],
    ['of what most entries have', 'api', { actor: 'user', kind: 'cluster' }],
  ])('%s stops when it is full (%s)', async (_what, source, filters) => {
    const { found, read } = await readPage(source, filters);

    expect(found).toBe(50);
    expect(read).toBeLessThan(READ_MAX);
  });

  it.each<[string, AuditSource, Partial<AuditFilters>]>([
    ['DNS writes', 'dns', { action: 'cluster.declare' }],
    ['DNS writes', 'dns', { actor: 'operator' }],
    ['calls of this API', 'api', { action: 'dns.create' }],
    ['calls of this API', 'api', { outcome: 'settled' }],
    ['calls of this API', 'api', { actor: 'upstream' }],
  ])('does not read the log of %s for what it cannot contain', async (_what, source, filters) => {
    expect(await readPage(source, filters)).toEqual({ found: 0, read: 0 });
  });
});
