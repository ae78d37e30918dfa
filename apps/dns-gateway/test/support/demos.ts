import { courseStore } from '@corral/dns-data';
import { waitFor } from '@corral/testing';
import { expect } from '@jest/globals';
import { type Answer, DEMO_ZONE, type TestGateway } from './start-gateway.js';

export interface TestDemo {
  readonly label: string;
  readonly token: string;
}

let names = 0;

/** Creates a demo of acme, or of another team if the token is another team's. */
export async function makeDemo(gateway: TestGateway, body: object = {}, token = gateway.acme.token): Promise<TestDemo> {
  names += 1;
  const answer = await gateway.call('POST', '/demos', { token, body: { name: `demo ${names}`, ...body } });
  expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
  return { label: answer.json.demo.label, token: answer.json.token };
}

/** Calls without a token. */
export function createWithCode(gateway: TestGateway, body: object): Promise<Answer> {
  return gateway.call('POST', '/demos', { token: null, body });
}

export async function addCourse(
  { prisma }: TestGateway,
  code: string,
  liveDemosMax = 20,
  perAddressMax?: number,
): Promise<void> {
  expect(await courseStore(prisma).createCourse(code, liveDemosMax, perAddressMax)).toBe(true);
}

/** Creates a set of type A in the demo zone with this many records. */
export function createSet(gateway: TestGateway, token: string, name: string, records = 1): Promise<Answer> {
  const values = Array.from({ length: records }, (_, index) => ({ value: `192.0.2.${index + 1}` }));
  return gateway.call('POST', `/zones/${DEMO_ZONE}/rrsets`, { token, body: { name, type: 'A', records: values } });
}

/** Makes the demo older by this many seconds. A demo past its lifetime ends immediately. */
export async function ageDemo({ pool }: TestGateway, label: string, seconds: number): Promise<void> {
  const { rowCount } = await pool.query(
    `UPDATE demo SET created_at = created_at - make_interval(secs => $2), expires_at = expires_at - make_interval(secs => $2),
                     ended_at = ended_at - make_interval(secs => $2)
     WHERE label = $1 AND released_at IS NULL`,
    [label, seconds],
  );
  expect(rowCount).toBe(1);
}

/** Gateways cache tokens in memory. Postgres notifies them of a change a moment after the commit. */
export async function untilRefused(gateway: TestGateway, token: string): Promise<void> {
  await waitFor('the token to be refused', async () => {
    return (await gateway.call('GET', '/zones', { token })).status === 401;
  });
}

/** The sets that the demo zone holds upstream at and below a label, as `name/TYPE`. */
export function upstreamSets({ cloud }: TestGateway, label: string): string[] {
  const zone = cloud.admin.zones().find(({ name }) => name === DEMO_ZONE);
  const own = (zone?.rrsets ?? []).filter(({ name }) => name === label || name.endsWith(`.${label}`));
  return own.map(({ name, type }) => `${name}/${type}`).sort();
}

export interface DemoEntry {
  actor: string;
  operation: string;
  name: string;
  type: string;
  state: string;
  team_id: string | null;
  token_id: string | null;
}

/** The audit entries of a demo, with the oldest first. */
export async function entriesOf({ pool }: TestGateway, label: string): Promise<DemoEntry[]> {
  const { rows } = await pool.query<DemoEntry>(
    `SELECT actor, operation, entry.name, type, state, entry.team_id, entry.token_id
     FROM dns_audit_entry AS entry JOIN demo ON demo.id = entry.demo_id WHERE demo.label = $1 ORDER BY entry.id`,
    [label],
  );
  return rows;
}
