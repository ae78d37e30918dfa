import { spawnSync } from 'node:child_process';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '@corral/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { allowInBrowser } from '../../../support/cli/allow-in-browser.js';
import { type Corral, corralCommand } from '../../../support/cli/corral.js';
import { type CommandLine, fileOf, startCommandLine } from '../../../support/cli/start-command-line.js';
import { missingPrograms } from '../../../support/clients/client-programs.js';
import { runCommand } from '../../../support/clients/run-command.js';
import type { ClusterSystem } from '../../../support/clusters/start-cluster-system.js';
import { builtFile } from '../../../support/system/program.js';

let cli: CommandLine;
let system: ClusterSystem;
let ann: Corral;
let ci: Corral;
let apiUrl: string;
let dnsUrl: string;
let declared: CommandLine['declared'];

beforeAll(async () => {
  cli = await startCommandLine();
  ({ system, ann, ci, apiUrl, dnsUrl, declared } = cli);
});
afterAll(() => cli?.stop());

describe('signing in', () => {
  it('ends with 1 if the person does not allow it, and keeps nothing', async () => {
    const corral = await corralCommand();
    const login = corral.start(['login', '--url', apiUrl, '--no-browser']);
    const [page = ''] = await login.untilSaid(/http\S+authorize\S+/);

    await allowInBrowser(page, 'member@globex.test', 'deny');

    expect(await login.ended).toMatchObject({ code: 1, err: expect.stringContaining('was not allowed') });
    expect(await readdir(corral.folder)).toEqual([]);
    await corral.remove();
  });

  it('takes the token of a service account from standard input, never from an argument', async () => {
    const corral = await corralCommand();
    const { out: token } = await ann.run('tokens', 'account', 'create', 'ci', '--days', '1');
    const login = ['login', '--url', apiUrl, '--team', 'acme', '--token'];

    expect(await corral.run(...login, token.trim())).toMatchObject({
      code: 2,
      err: expect.stringContaining('standard input'),
    });
    expect((await corral.runWith({ input: 'corral_wrong' }, ...login, '-')).code).toBe(3);
    expect((await corral.runWith({ input: token }, ...login, '-')).code).toBe(0);

    expect((await corral.run('clusters', 'list')).code).toBe(0);
    const [{ id }] = await ann.json('tokens', 'account', 'list', 'ci');
    await ann.run('tokens', 'account', 'revoke', 'ci', id);
    expect(await corral.run('clusters', 'list')).toMatchObject({
      code: 3,
      out: '',
      err: expect.stringMatching(/^corral: .*request [0-9a-f-]{36}\)\n$/),
    });
    await corral.remove();
  });
});

describe('clusters', () => {
  afterEach(() => ci.run('clusters', 'delete', 'reached', '--yes', '--wait', '--ignore-not-found'));

  it('are protected, hibernated and deleted, after the answer that each needs', async () => {
    const file = await fileOf(ci, 'api.yaml', declared('api'));
    await ci.json('clusters', 'apply', '-f', file, '--wait');
    expect(await ci.run('clusters', 'hibernate', 'api', '--dry-run')).toMatchObject({
      code: 0,
      out: expect.stringContaining('hibernated'),
    });
    expect(await ci.run('clusters', 'delete', 'api')).toMatchObject({ code: 2, err: expect.stringContaining('--yes') });
    expect((await ci.run('clusters', 'protect', 'api')).code).toBe(0);
    expect(await ci.run('clusters', 'delete', 'api', '--yes')).toMatchObject({
      code: 5,
      err: expect.stringContaining('deletion_protected'),
    });
    expect((await ci.run('clusters', 'unprotect', 'api')).code).toBe(0);
    expect((await ci.run('clusters', 'delete', 'api', '--yes', '--wait')).code).toBe(0);
    expect((await ci.run('clusters', 'wait', 'api', '--for', 'deleted')).code).toBe(0);
    expect((await ci.run('clusters', 'delete', 'api', '--yes')).code).toBe(4);
    expect((await ci.run('clusters', 'delete', 'api', '--yes', '--ignore-not-found')).code).toBe(0);
  });

  it('are reached with kubectl, which gets a new credential by itself', async () => {
    await ci.json('clusters', 'apply', '-f', await fileOf(ci, 'reached.yaml', declared('reached')), '--wait');
    const { path } = await ci.json('kubeconfig', 'get', 'reached', '--exec', '--merge');
    const kubeconfig = await readFile(path, 'utf8');
    expect(kubeconfig).toContain('name: acme/reached\n');
    expect(kubeconfig).not.toMatch(/client-key-data|token:/);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    if (missingPrograms('kubectl') !== null) return;
    await ann.json('accounts', 'set', 'kubectl', '--role', 'member');
    const env = {
      KUBECONFIG: path,
      CORRAL_URL: apiUrl,
      CORRAL_CACHE: join(ci.folder, 'cache'),
      CORRAL_CONFIG: ci.configPath,
      CORRAL_TOKEN: (await ann.run('tokens', 'account', 'create', 'kubectl', '--days', '1')).out.trim(),
    };
    const nodes = () => runCommand(['kubectl', '--cache-dir', ci.folder, 'get', 'nodes', '--output', 'name'], { env });

    // Another token: the credential of the first one is not for it.
    expect(await nodes()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^node\//) });
    expect((await nodes()).code).toBe(0);
    const issued = await ci.json('clusters', 'get', 'reached').then(() => ann.json('audit', '--kind', 'kubeconfig'));
    expect(issued).toHaveLength(2);
    const credential = join(ci.folder, 'cache', 'credentials');
    for (const name of await readdir(credential)) {
      const kept = JSON.parse(await readFile(join(credential, name), 'utf8'));
      kept.lifetimeMs = 30_000;
      await writeFile(join(credential, name), JSON.stringify(kept));
    }

    expect((await nodes()).code).toBe(0);

    expect(await ann.json('audit', '--kind', 'kubeconfig')).toHaveLength(3);
  });
});

describe('record sets', () => {
  let dns: Corral;
  beforeAll(async () => {
    const { out: token } = await ann.run('tokens', 'dns', 'create', 'cli', '--expires', '1d');
    dns = await corralCommand({ CORRAL_DNS_URL: dnsUrl, CORRAL_DNS_TOKEN: token.trim() });
  });
  afterAll(() => dns?.remove());

  it('are imported from a file in another encoding', async () => {
    const file = join(dns.folder, 'latin1.zone');
    await writeFile(file, Buffer.from('mail._domainkey TXT "p=\u00e4"\r\n', 'latin1'));

    expect(await dns.run('dns', 'import', '--encoding=latin1', file, '--yes')).toMatchObject({
      code: 0,
      out: expect.stringContaining('+ "p=ä"'),
    });
    await dns.json('dns', 'delete', 'mail._domainkey.acme', 'TXT', '--yes');
  });

  it('can be piped to a program that reads one line', () => {
    const command = `"$0" "$1" dns export | head -1; echo "\${PIPESTATUS[0]}"`;
    const { stdout, stderr } = spawnSync(
      'bash',
      ['--norc', '-c', command, process.execPath, builtFile('apps/cli/dist/main.js')],
      {
        encoding: 'utf8',
        env: { PATH: process.env.PATH, CORRAL_CONFIG: ann.configPath },
      },
    );

    expect([stdout, stderr]).toEqual(['$ORIGIN example.test.\n0\n', '']);
  });
});

describe('the audit log', () => {
  it('is followed: each entry appears once, soon after it was made', async () => {
    const follow = ann.start(['audit', '--follow', '--limit', '1', '--kind', 'service_account', '-o', 'json']);
    await waitFor('the first entry', async () => follow.out().includes('\n') || null);

    await ann.json('accounts', 'set', 'other', '--role', 'viewer');
    await waitFor('the new entry', async () => follow.out().includes('"name":"other"') || null);
    follow.signal('SIGINT');

    const { code, out } = await follow.ended;
    expect(code).toBe(130);
    const ids = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('a command while the service is away', () => {
  it('ends with 7, in one line', async () => {
    const gateway = system.gateways[0] as ClusterSystem['gateways'][number];
    await gateway.stop();

    const { code, err } = await ci.runWith(
      { env: { CORRAL_DNS_URL: dnsUrl, CORRAL_DNS_TOKEN: 'x'.repeat(64) } },
      'dns',
      'list',
    );

    expect([code, err]).toEqual([7, expect.stringMatching(/^corral: [^\n]+\(network\)\n$/)]);
    await gateway.start();
    await gateway.untilReady();
  });
});

describe('the rest of the product', () => {
  it('has connections, pools, operations, usage and the catalogue', async () => {
    const created = await ann.runWith({ input: 'b'.repeat(64) }, 'connections', 'create', 'spare', '--name', 'Spare');
    expect(created).toMatchObject({ code: 0, out: expect.stringContaining('spare') });
    expect(await ann.json('connections', 'set', 'spare', '--name', 'Second')).toMatchObject({
      spec: { name: 'Second' },
    });
    const seen = await ann.run('connections', 'set', 'spare', '--token', 'c'.repeat(64));
    expect(seen).toMatchObject({ code: 2, err: expect.stringContaining('--token -') });
    expect(await ann.json('connections', 'list')).toHaveLength(2);
    expect((await ann.run('connections', 'delete', 'spare', '--yes')).code).toBe(0);

    const file = await fileOf(ci, 'pools.yaml', declared('pools'));
    await ci.json('clusters', 'apply', '-f', file, '--wait');
    const planned = ['pools', 'set', 'pools', 'general', '--max', '3'];
    expect(await ci.run(...planned, '--dry-run')).toMatchObject({ code: 0, out: expect.stringContaining('1–3 nodes') });
    expect(await ci.run(...planned)).toMatchObject({ code: 2, err: expect.stringContaining('--yes') });
    expect(await ci.json(...planned, '--yes')).toMatchObject({ minimum: 1, maximum: 3, machineType: 'cx22' });
    expect(await ci.run('pools', 'set', 'pools', 'none')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--max'),
    });
    expect(await ci.run('pools', 'list', 'pools')).toMatchObject({
      out: expect.stringMatching(/general +managed +cx22 +1–3/),
    });

    const [newest] = await ci.json('operations', 'list', '--target', 'pools');
    expect(newest).toMatchObject({ kind: 'cluster.update' });
    expect(await ci.json('operations', 'wait', newest.id)).toMatchObject({ state: 'succeeded' });
    expect((await ci.run('usage', '--step', 'hour')).code).toBe(0);
    expect((await ci.run('catalogue')).out).toContain('cx22');
    expect((await ci.run('clusters', 'delete', 'pools', '--yes')).code).toBe(0);
  });

  it('has names on clusters', async () => {
    await ci.json('clusters', 'apply', '-f', await fileOf(ci, 'named.yaml', declared('named')), '--wait');
    const names = (...args: string[]) => ['clusters', 'names', ...args];
    const added = names('add', 'named', 'shop.acme');

    expect(await ann.run(...added, '--dry-run')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/Deployment +corral-dns +shop-acme +registry\.k8s\.io/),
    });
    expect(await ci.run(...added)).toMatchObject({ code: 1, err: expect.stringContaining('Only people') });
    expect((await ann.run(...added)).code).toBe(0);
    expect(await ann.run(...added)).toMatchObject({ err: expect.stringContaining('name_taken') });
    expect(await ci.run(...names('list', 'named'))).toMatchObject({
      out: expect.stringMatching(/shop\.acme +shop\.acme\./),
    });
    expect((await ci.run(...names('get', 'named', 'shop.acme'))).out).toMatch(/^Name +shop\.acme$/m);
    expect(await ann.run(...names('remove', 'named', 'shop.acme'))).toMatchObject({ code: 2 });
    expect((await ann.run(...names('remove', 'named', 'shop.acme', '--yes'))).code).toBe(0);
    expect((await ci.run('clusters', 'delete', 'named', '--yes')).code).toBe(0);
  });

  it('has people, invitations, sessions and issuers', async () => {
    const people = await ann.json('people', 'list');
    const member = people.find(({ role }: { role: string }) => role === 'member');
    expect(await ann.run('people', 'role', String(member.id), 'viewer', '--dry-run')).toMatchObject({
      out: expect.stringContaining('becomes viewer'),
    });
    expect(await ann.json('people', 'role', String(member.id), 'viewer', '--yes')).toMatchObject({ role: 'viewer' });
    await ann.json('people', 'role', String(member.id), 'member', '--yes');
    const { id } = await ann.json('invitations', 'create', 'grace@acme.test');
    expect(await ann.run('invitations', 'revoke', id)).toMatchObject({ code: 0 });
    const [, revoked] = await ann.json('audit', '--name', 'grace@acme.test');
    expect(await ann.json('audit', '--request-id', revoked.requestId)).toEqual([revoked]);
    expect(await ann.json('sessions', 'list')).toContainEqual(expect.objectContaining({ current: true }));
    const trust = ['--issuer', 'https://issuer.acme.test', '--audience', apiUrl, '--account', 'ci'];
    expect(await ann.run('issuers', 'set', 'forge', ...trust, '--claim', 'ref=x')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--claim sub='),
    });
    expect((await ann.run('issuers', 'list')).out).toBe('There are no trusted issuers.\n');
  });

  it('has a DNS token for a program, which must exist, and addresses of the console', async () => {
    expect(await ci.run('dns', 'token')).toMatchObject({ code: 0, out: expect.stringMatching(/^[A-Za-z0-9]{64}\n$/) });
    expect(await ci.run('dns', 'token', '--', 'no-such-program')).toMatchObject({
      code: 2,
      err: 'corral: no-such-program cannot be run. Check its name and PATH.\n',
    });
    expect((await ann.run('open', 'clusters', 'web', '--print')).out).toBe(
      `${apiUrl}/console/teams/acme/clusters/web\n`,
    );
  });
});
