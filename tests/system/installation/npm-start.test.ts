import { chmod, mkdtemp, readFile, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { describeNeeding, type RunningProcess, showsLessWithout, waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hcloudCli, missingOf, missingPrograms } from '../../support/clients/client-programs.js';
import { callDns } from '../../support/clients/dns-api.js';
import { askNameServer } from '../../support/clients/resolver.js';
import { runCommand } from '../../support/clients/run-command.js';
import { type DevFile, npmStart } from '../../support/system/npm-start.js';
import { canListProcesses, descendantsOf, type RunningPid, stillRunning } from '../../support/system/process-tree.js';

const cli = await hcloudCli();
const withoutDig = missingPrograms('dig');
showsLessWithout(withoutDig);

const noProc = { what: 'to list processes', how: 'run them on Linux, which has /proc' };

let folder: string;
let running: RunningProcess;

const start = async (): Promise<void> => {
  ({ running } = await npmStart(join(folder, 'state')));
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-start-'));
  // Under root, Postgres runs as another user, who must be able to reach its data.
  await runCommand(['mkdir', '-m', '755', join(folder, 'state')]);
  await chmod(folder, 0o755);
  await start();
});
afterAll(async () => {
  await running?.stop({ timeoutMs: 60_000 });
  await rm(folder, { recursive: true, force: true });
});

const stateFile = (name: string): string => join(folder, 'state', name);
const readDevFile = async (): Promise<DevFile> => JSON.parse(await readFile(stateFile('dev.json'), 'utf8'));

const listNames = async ({ dnsUrl, zoneName, teams }: DevFile): Promise<string[]> => {
  const token = teams[0]?.dnsToken as string;
  const { json } = await callDns(dnsUrl, { method: 'GET', path: `/zones/${zoneName}/rrsets`, token });
  return json.rrsets.map(({ id }: { id: string }) => id);
};

/** The printed commands, each of one line or more, after the `export` that all of them need. */
function printedCommands(): { exported: string; curl: string; hcloud: string; dig: string } {
  const tried = running.output().split('Try, in another shell:')[1] ?? '';
  const find = (pattern: RegExp): string => pattern.exec(tried)?.[0].trim() ?? `there is no ${pattern}`;
  return {
    exported: find(/^ {2}export .*$/m),
    curl: find(/^ {2}curl .*\\\n.*$/m),
    hcloud: find(/^ {2}hcloud .*$/m),
    dig: find(/^ {2}dig .*$/m),
  };
}

const inShell = (command: string, path = process.env.PATH) =>
  runCommand(['bash', '-c', `${printedCommands().exported}\n${command}`], {
    env: { PATH: path, HCLOUD_CONFIG: join(folder, 'cli.toml') },
  });

const local = (scheme: string, path = '') =>
  expect.stringMatching(new RegExp(`^${scheme}://127\\.0\\.0\\.1:\\d+${path}$`));

describe('npm start', () => {
  it('describes in dev.json what runs, readable only for its user', async () => {
    const dev = await readDevFile();

    expect(dev).toEqual({
      dnsUrl: local('http', '/v1'),
      dnsTlsUrl: local('https', '/v1'),
      caFile: stateFile('tls/ca.pem'),
      zoneName: 'example.test',
      demoZoneName: 'demo.example.test',
      dnsServerPort: expect.any(Number),
      baseUrl: local('http'),
      consoleUrl: `${dev.baseUrl}/console/`,
      upstream: {
        hcloudUrl: local('http', '/v1'),
        hcloudToken: expect.any(String),
        gardenUrl: local('https'),
        gardenKubeconfig: stateFile('local-cloud/garden.kubeconfig'),
        adminUrl: local('http'),
      },
      teams: ['acme', 'globex'].map((slug) => ({
        slug,
        dnsToken: expect.stringMatching(/^[A-Za-z0-9]{64}$/),
        connectionRef: 'main',
        admin: { email: `admin@${slug}.test`, sessionid: expect.any(String) },
        member: { email: `member@${slug}.test`, sessionid: expect.any(String) },
        servers: ['amd64', 'arm64'].map((architecture) => expect.objectContaining({ architecture })),
      })),
      defaults: { region: 'hel1', kubernetesVersion: '1.34', machineType: 'cpx31' },
    });
    for (const name of ['dev.json', 'admin.json', 'secrets.json', 'tls/tls.key'])
      expect((await stat(stateFile(name))).mode & 0o777).toBe(0o600);
  });

  it('has teams whose printed tokens work, whose people are signed in, and whose cloud project is verified', async () => {
    const { baseUrl, dnsUrl, teams } = await readDevFile();
    const read = async (path: string, sessionid: string): Promise<unknown> =>
      (await fetch(`${baseUrl}/api/v1${path}`, { headers: { Cookie: `sessionid=${sessionid}` } })).json();

    for (const { slug, dnsToken, connectionRef, ...people } of teams) {
      expect(running.output()).toContain(dnsToken);
      expect((await callDns(dnsUrl, { method: 'GET', path: '/zones', token: dnsToken })).status).toBe(200);
      for (const role of ['admin', 'member'] as const) {
        const { email, sessionid } = people[role];
        expect(await read('/me/', sessionid)).toMatchObject({ email, teams: [{ slug, role }] });
      }
      const connection = await read(`/teams/${slug}/connections/${connectionRef}/`, people.member.sessionid);
      expect(connection).toMatchObject({ status: { phase: 'Ready' } });
    }
  });
});

describeNeeding(describe, missingPrograms('curl', 'kubectl'), 'the cluster commands that npm start prints', () => {
  it('declare a cluster, wait for it, and list its nodes', async () => {
    const printed = running.output().split('export CLUSTERS')[1]?.split('Ctrl-C')[0] ?? 'false';
    const { upstream } = await readDevFile();
    await fetch(`${upstream.adminUrl}/admin/garden/settings`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ createMs: 500 }),
    });

    const shell = await runCommand(['bash', '-ec', `export CLUSTERS${printed}`], { cwd: folder });

    expect(shell.stdout).toContain('"kind":"cluster.create"');
    expect(shell.stdout.match(/^shoot--\S+ +Ready /gm)).toHaveLength(2);
  });
});

describeNeeding(describe, missingPrograms('curl'), 'the DNS commands that npm start prints', () => {
  it('create a name, and resolve it if dig is installed', async () => {
    const { curl, dig } = printedCommands();
    const { dnsServerPort, zoneName } = await readDevFile();

    const created = await inShell(curl);

    expect(JSON.parse(created.stdout)).toMatchObject({ rrset: { id: 'api.acme/A' } });
    expect(dig).toBe(`dig @127.0.0.1 -p ${dnsServerPort} api.acme.${zoneName} +short`);
    expect(await askNameServer(dnsServerPort, `api.acme.${zoneName}`, 'A')).toEqual(['192.0.2.10']);
    if (withoutDig === null) expect((await inShell(dig)).stdout).toBe('192.0.2.10\n');
  });
});

describeNeeding(describe, missingPrograms('curl'), 'the commands for clients with a built-in address', () => {
  it('lead from the name of the upstream to the gateway, over TLS that they trust', async () => {
    const block = /^ {2}export SSL_CERT_FILE=.*?(?=^ {2}#)/ms.exec(running.output())?.[0] ?? 'false';

    const shell = await inShell(`set -e\n${block}`);

    expect(block).toContain('https://api.hetzner.cloud/v1/zones');
    expect(shell).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(shell.stdout)).toMatchObject({ zones: [{ name: (await readDevFile()).zoneName }] });
  });
});

describeNeeding(describe, missingOf(cli), 'the hcloud command that npm start prints', () => {
  it('lists the record sets of the team', async () => {
    const program = cli.kind === 'found' ? (cli.command[0] as string) : '';
    await symlink((await runCommand(['which', program])).stdout.trim(), join(folder, 'hcloud'));

    const listed = await inShell(printedCommands().hcloud, `${folder}${delimiter}${process.env.PATH}`);

    expect(listed).toMatchObject({ code: 0, stdout: expect.stringMatching(/NAME +TYPE/) });
  });
});

describeNeeding(describe, canListProcesses() ? null : noProc, 'the processes of npm start', () => {
  const findGateway = async (): Promise<RunningPid | undefined> =>
    (await descendantsOf(running.pid)).find(({ command }) => command.includes('dns-gateway/dist/main.js'));

  it('start again when they are killed, end on Ctrl-C, and come back in the same state', async () => {
    const dev = await readDevFile();
    const authority = await readFile(dev.caFile, 'utf8');
    const body = { name: 'kept.acme', type: 'A', records: [{ value: '192.0.2.40' }] };
    const path = `/zones/${dev.zoneName}/rrsets`;
    await callDns(dev.dnsUrl, { method: 'POST', path, body, token: dev.teams[0]?.dnsToken as string });
    const kept = await listNames(dev);

    const gateway = await findGateway();
    process.kill(gateway?.pid as number, 'SIGKILL');
    await waitFor('the gateway to be replaced', async () => (await listNames(dev)).length > 0);
    expect(await listNames(dev)).toEqual(kept);
    expect((await findGateway())?.pid).not.toBe(gateway?.pid);
    expect(running.output()).toContain('dns-gateway exited (SIGKILL). Restarting it');

    const all = await descendantsOf(running.pid);
    const services = ['reconciler', 'dns-gateway', 'cluster-api'].map((name) => `${name}/dist/main.js`);
    const programs = ['local-cloud/programs/main.js', ...services];
    for (const program of [...programs, 'postgres']) {
      expect(all.map(({ command }) => command)).toContainEqual(expect.stringContaining(program));
    }
    running.kill('SIGINT');
    expect(await running.exited).toEqual({ code: 0, signal: null });
    await waitFor('all processes to be gone', async () => {
      expect(await stillRunning(all)).toEqual([]);
      return true;
    });

    await start();
    expect(await readDevFile()).toEqual(dev);
    expect(await readFile(dev.caFile, 'utf8')).toBe(authority);
    expect(await listNames(dev)).toEqual(kept);
    for (const { dnsToken } of dev.teams) expect(running.output()).toContain(dnsToken);
  });
});
