import { spawnSync } from 'node:child_process';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '@corral/testing';
import { startTokenIssuer } from '@corral/testing/token-issuer';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { allowInBrowser } from '../../../support/cli/allow-in-browser.js';
import { type Corral, corralCommand } from '../../../support/cli/corral.js';
import { type CommandLine, fileOf, startCommandLine } from '../../../support/cli/start-command-line.js';
import { runCommand } from '../../../support/clients/run-command.js';
import { hasKubectl } from '../../../support/clusters/nodes-of.js';
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
  it('exchanges the token of a trusted issuer, which is kept nowhere', async () => {
    const issuer = await startTokenIssuer();
    const spec = { issuer: issuer.url, audience: apiUrl, claims: { sub: 'repo:acme/*' }, serviceAccount: 'ci' };
    const session = /session: (\S+)/.exec(await readFile(ann.configPath, 'utf8'))?.[1];
    const trusted = await fetch(`${apiUrl}/api/v1/teams/acme/trusted-issuers/actions/`, {
      method: 'PUT',
      headers: { cookie: `sessionid=${session}`, 'content-type': 'application/json' },
      body: JSON.stringify({ spec }),
    });
    expect([trusted.status, await trusted.text()]).toEqual([201, expect.stringContaining(issuer.url)]);
    const pipeline = await corralCommand();
    const file = join(pipeline.folder, 'id-token');
    const login = async (sub: string) => {
      await writeFile(file, await issuer.sign({ aud: apiUrl, sub }));
      const account = ['--team', 'acme', '--account', 'ci', '--subject-token-file', file];
      return pipeline.run('login', '--url', apiUrl, '--exchange', ...account);
    };

    expect(await login('repo:globex/infra')).toMatchObject({ code: 3 });
    expect(await login('repo:acme/infra')).toMatchObject({ code: 0 });

    expect((await pipeline.run('clusters', 'list')).code).toBe(0);
    expect(await readFile(pipeline.configPath, 'utf8')).not.toContain(await readFile(file, 'utf8'));
    await pipeline.remove();
    await issuer.close();
  });

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

  it('are planned, and not changed, with an account that may only read', async () => {
    await ann.json('accounts', 'set', 'plans', '--role', 'viewer', '--actions', 'read');
    const { out: token } = await ann.run('tokens', 'account', 'create', 'plans', '--days', '1');
    const reader = await corralCommand({ CORRAL_URL: apiUrl, CORRAL_TOKEN: token.trim(), CORRAL_TEAM: 'acme' });
    const planned = declared('planned', { nodePools: [{ name: 'general', machineType: 'cx22', maximum: 6 }] });
    const file = await fileOf(ci, 'planned.yaml', planned);
    await ci.json('clusters', 'apply', '-f', file, '--wait');
    await fileOf(ci, 'planned.yaml', declared('planned', { nodePools: [{ name: 'general', machineType: 'cx22' }] }));

    expect(await reader.run('clusters', 'diff', '-f', file)).toMatchObject({
      code: 1,
      out: expect.stringContaining(
        'spec.nodePools[0].maximum: 6 → 3 (the default, because the declaration leaves it out)',
      ),
    });
    expect(await reader.run('clusters', 'delete', 'planned', '--dry-run')).toMatchObject({ code: 0 });
    expect(await reader.run('clusters', 'apply', '-f', file)).toMatchObject({
      code: 1,
      err: expect.stringContaining('permission_denied'),
    });
    expect(await reader.run('clusters', 'delete', 'planned', '--yes')).toMatchObject({ code: 1 });
    await ci.json('clusters', 'delete', 'planned', '--yes', '--wait');
    await reader.remove();
  });

  it('are reached with kubectl, which gets a new credential by itself', async () => {
    await ci.json('clusters', 'apply', '-f', await fileOf(ci, 'reached.yaml', declared('reached')), '--wait');
    const { path } = await ci.json('kubeconfig', 'get', 'reached', '--exec', '--merge');
    const kubeconfig = await readFile(path, 'utf8');
    expect(kubeconfig).toContain('name: acme/reached\n');
    expect(kubeconfig).not.toMatch(/client-key-data|token:/);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    if (!hasKubectl) return;
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

  describe('an import of a zone file that cannot be followed', () => {
    const names = ['one.acme', 'two.acme', 'three.acme'];
    beforeAll(async () => {
      for (const name of names) await dns.json('dns', 'set', name, 'TXT', 'kept');
    });
    afterAll(async () => {
      for (const name of names) await dns.json('dns', 'delete', name, 'TXT', '--yes');
    });
    const kept = names.map((name) => `${name}.example.test. TXT "kept"`);
    const importOf = async (lines: readonly (string | Buffer)[], ...options: string[]) => {
      const before = await dns.json('dns', 'list');
      const file = join(dns.folder, 'rude.zone');
      await writeFile(
        file,
        Buffer.concat(lines.map((line) => Buffer.concat([Buffer.from(line), Buffer.from('\r\n')]))),
      );
      const ran = await dns.run('dns', 'import', ...options, file, '--yes');
      return { ...ran, isKept: JSON.stringify(await dns.json('dns', 'list')) === JSON.stringify(before) };
    };

    it.each<[what: string, lines: (string | Buffer)[], options: string[], code: number, err: RegExp]>([
      [
        'all names are of others',
        ['www.globex.example.test. A 192.0.2.1'],
        ['--prune', '--partial'],
        1,
        /no record set that can/,
      ],
      [
        'no line can be read',
        ['one.acme TXT "x', 'nonsense'],
        ['--prune', '--partial'],
        1,
        /no record set that can be written/,
      ],
    ])('changes nothing if %s', async (_what, lines, options, code, err) => {
      expect(await importOf(lines, ...options)).toEqual({
        code,
        out: expect.any(String),
        err: expect.stringMatching(err),
        isKept: true,
      });
    });

    it('loses no set if the upstream refuses what the file adds, and says so once', async () => {
      const message = 'the zone is being moved';
      await system.cloud.addFaults({
        match: { api: 'hcloud', method: 'POST', path: '/rrsets' },
        effect: { status: 422, code: 'invalid_input', message },
        times: null,
      });
      const { code, err, isKept } = await importOf(
        [...kept.slice(1), 'new.acme.example.test. A 192.0.2.1'],
        '--prune=9',
      );
      await system.cloud.clearFaults();

      expect({ code, isKept }).toEqual({ code: 1, isKept: true });
      expect(err.split(message)).toHaveLength(2);
      expect(err).toContain('one.acme TXT: skipped: Left as it is, because not everything before it was written.');
      expect(err).toContain('Correct what is refused');
    });

    it('writes what the team may write, and says what it left out and how it read the names', async () => {
      const latin1 = Buffer.from('mail._domainkey IN TXT ( "v=DKIM1; k=rsa; " "p=\u00e4" )', 'latin1');
      const lines = ['@ 1 IN SOA ns h ( 1 2 3 4 5 )', '@ NS ns', '@ MX 10 mx', '@ CAA 0 issue "ca.example"', latin1];
      const { code, out } = await importOf(lines, '--encoding=latin1');

      expect({ code, lines: out.replace(/\d+ records/, 'N records').split('\n') }).toEqual({
        code: 0,
        lines: [
          '+ mail._domainkey.acme TXT',
          '    + "v=DKIM1; k=rsa; " "p=ä"',
          'Names without a final dot are read as names below acme.example.test.',
          'SOA and NS of acme.example.test are left out: the zone has its own.',
          'Left out, because the API does not write these types: 1 MX, 1 CAA.',
          '1 to add. N records afterwards.',
          '',
        ],
      });
      await dns.json('dns', 'delete', 'mail._domainkey.acme', 'TXT', '--yes');
    });
  });

  it('are also reached by the session of a person', async () => {
    expect(await ann.json('dns', 'whoami')).toMatchObject({ kind: 'session', team: 'acme' });
    await ann.json('dns', 'set', 'session.acme', 'A', '192.0.2.1');
    expect(await ann.json('dns', 'list', 'session.acme')).toHaveLength(1);
    await ann.json('dns', 'delete', 'session.acme', 'A', '--yes');
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
