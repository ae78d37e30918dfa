import { describeNeeding, freePort, waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { callDns } from '../support/clients/dns-api.js';
import type { TeamClient } from '../support/clusters/client.js';
import { aCluster, aPool, change } from '../support/clusters/journey.js';
import { type ClusterSystem, startClusterSystem } from '../support/clusters/start-cluster-system.js';
import { dashboards, sentExpression } from '../support/dashboards.js';
import { missingProgram, type Prometheus, startPrometheus } from '../support/prometheus.js';
import { type Ends, undo, ZONE } from '../support/system/system-parts.js';

/*
 * An expression may be valid and find nothing. Here Prometheus scrapes a system that works, with the rules that operators
 * load, and each panel has to show something, except those about faults and features that this system does not have.
 */

const SILENT = new Set([
  'Alerts',
  'Certificates expire in',
  'Passes of adopted servers',
  'Pauses',
  'Record sets changed outside',
  'Requests without a turn',
  'Rows removed',
  'Settlements and rechecks',
]);

describeNeeding(describe, missingProgram('prometheus'), 'Prometheus beside a system that works', () => {
  const ends: Ends = [];
  let prometheus: Prometheus;
  let system: ClusterSystem;
  let token: string;
  beforeAll(async () => {
    const [gatewayPort, apiPort] = [await freePort(), await freePort()];
    system = await startClusterSystem({
      gateways: 1,
      reconcilers: 2,
      gatewayEnv: () => ({ METRICS_PORT: String(gatewayPort) }),
      apiEnv: { METRICS_PORT: String(apiPort) },
    });
    ends.push(system.stop);
    const { member } = system.teams[0] as ClusterSystem['teams'][number];
    token = (await member.insist({ method: 'POST', path: '/dns-tokens/', body: { name: 'dashboards' } })).json.token;
    prometheus = await startPrometheus(ends, [
      `http://127.0.0.1:${gatewayPort}`,
      `http://127.0.0.1:${apiPort}`,
      ...system.reconcilers.map(({ metricsUrl }) => metricsUrl),
    ]);
  }, 300_000);
  afterAll(() => undo(ends));

  it('shows the operations that ended, once although two replicas report them, and something in each panel', async () => {
    const { member } = system.teams[0] as ClusterSystem['teams'][number];
    await writeRecords(system, token, 'first');
    await workOnClusters(system, member);
    const ended = await waitFor('all ended operations to be scraped', async () => {
      const { rows } = await system.pool.query<{ count: number }>(
        "SELECT count(*)::int AS count FROM operation WHERE state IN ('succeeded', 'failed')",
      );
      const [sample] = await prometheus.query('corral:operations_judged:total');
      return Number(sample?.value[1]) === rows[0]?.count && rows[0].count;
    });
    expect(ended).toBe(3);
    // A rate needs a value before and one after.
    await writeRecords(system, token, 'second');
    await waitFor('the last writes to be in the recorded ratio', async () => {
      return (await prometheus.query('corral:dns_writes_failed:ratio_rate3d')).length > 0;
    });

    const silent: string[] = [];
    for (const [file, { panels }] of dashboards) {
      for (const { title, targets } of panels) {
        const samples = await Promise.all(targets.map((target) => prometheus.query(sentExpression(target))));
        if (samples.flat().length === 0 && !SILENT.has(title)) silent.push(`${file}: ${title}`);
      }
    }
    expect(silent).toEqual([]);
  }, 300_000);
});

async function writeRecords({ gateways }: ClusterSystem, token: string, name: string): Promise<void> {
  for (const at of [1, 2, 3]) {
    const body = { name: `${name}${at}.acme`, type: 'A', records: [{ value: `192.0.2.${at}` }] };
    const call = { method: 'POST', path: `/zones/${ZONE}/rrsets`, token, body };
    expect((await callDns(gateways[0]?.url as string, call)).status).toBe(201);
  }
}

async function workOnClusters(system: ClusterSystem, member: TeamClient): Promise<void> {
  await change(member, 'PUT', '/clusters/web/', aCluster(system));
  await change(member, 'PUT', '/clusters/web/', aCluster(system, { nodePools: [aPool({ maximum: 3 })] }));
  await change(member, 'DELETE', '/clusters/web/');
}
