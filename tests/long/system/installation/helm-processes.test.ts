import { randomBytes } from 'node:crypto';
import { createEmptyDatabase, describeNeeding, freePort, startProcess, waitFor } from '@corral/testing';
import { findGoProgram, missingGoProgram } from '@corral/testing/go-programs';
import { afterAll, describe, expect, it } from '@jest/globals';
import { containerOf, environmentOf, renderChart } from '../../../support/kubernetes/chart.js';
import { startLocalCloud } from '../../../support/system/local-cloud.js';
import { builtFile, program, runAdmin } from '../../../support/system/program.js';
import { type Ends, ownFolder, undo } from '../../../support/system/system-parts.js';

const found = findGoProgram('helm');
const helm = found ?? '';
const missingHelm = found === null ? missingGoProgram('helm') : null;

describeNeeding(describe, missingHelm, 'the environment of each container', () => {
  const ends: Ends = [];
  afterAll(() => undo(ends));

  it('starts the real processes, on roles that the migration creates, and passes both tests of the chart', async () => {
    const database = await createEmptyDatabase();
    ends.push(() => database.drop());
    const cloud = await startLocalCloud({ dataDir: await ownFolder(ends) });
    ends.push(() => cloud.program.stop());
    const { hostname, port, username, password, pathname } = new URL(database.url);
    const settings = {
      'database.host': hostname,
      'database.port': port,
      'database.name': pathname.slice(1),
      'database.parameters': '',
      'database.rolePrefix': `r${randomBytes(4).toString('hex')}_`,
      'database.owner.user': username,
      'database.owner.password.value': decodeURIComponent(password),
      'database.passwords.dnsGateway.value': `p:/?#[]@%'"$ x`,
      'upstream.url': cloud.apiUrl,
      'upstream.token.value': cloud.token,
    };
    const escaped = (value: string) => value.replaceAll('\\', '\\\\').replaceAll(',', '\\,');
    const objects = renderChart(
      helm,
      'ci/ingress-values.yaml',
      ...Object.entries(settings).flatMap(([name, value]) => [
        name === 'database.port' ? '--set' : '--set-string',
        `${name}=${escaped(value)}`,
      ]),
    );
    const envOf = (name: string) => environmentOf(containerOf(objects, name), objects);
    const admin = (...args: string[]) => runAdmin(args, envOf('admin'));

    await admin(...(containerOf(objects, 'admin').args ?? []));
    const urls: Record<string, string> = {};
    const { serviceKubeconfigPaths: kubeconfigs } = cloud;
    for (const [name, kubeconfig] of [
      ['reconciler', kubeconfigs.reconciler],
      ['cluster-api', kubeconfigs.clusterApi],
      ['dns-gateway', undefined],
    ] as const) {
      // What the node gives to a pod: addresses of its own, and mounted files.
      const [ownPort, metricsPort] = [await freePort(), await freePort()];
      urls[name] = `http://127.0.0.1:${ownPort}`;
      const service = program({
        name,
        file: `apps/${name}/dist/main.js`,
        env: {
          ...envOf(name),
          HOST: '127.0.0.1',
          PORT: String(ownPort),
          METRICS_PORT: String(metricsPort),
          GARDEN_KUBECONFIG: kubeconfig,
        },
        readyUrl: `http://127.0.0.1:${metricsPort}/readyz`,
      });
      await service.start();
      ends.push(() => service.stop());
      await service.untilReady();
    }

    await waitFor('a doctor that finds nothing, once the reconciler has read the zone', async () => {
      const output = await runAdmin(containerOf(objects, 'doctor').args ?? [], envOf('doctor'));
      expect(output).toMatch(/^ok +services .*\n[\s\S]*ok +sync /m);
      return true;
    });
    await admin('team', 'create', 'acme');
    const issued = await admin('--json', 'token', 'issue', 'acme', '--name', 'helm test');
    const check = await startProcess({
      command: process.execPath,
      args: [builtFile('infra/helm/corral/files/check-dns-api.mjs')],
      env: {
        ...envOf('test'),
        DNS_URL: `${urls['dns-gateway']}/v1`,
        READY_URL: `${urls['dns-gateway']}/readyz`,
        DNS_TOKEN: JSON.parse(issued).token,
      },
    });

    expect({ ...(await check.exited), output: check.output() }).toMatchObject({
      code: 0,
      output: expect.stringMatching(/was written, read and deleted/),
    });
  }, 240_000);
});
