import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startWebhookReceiver, waitFor } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { allowInBrowser } from '../../support/cli/allow-in-browser.js';
import { type Corral, corralCommand } from '../../support/cli/corral.js';
import { type CommandLine, fileOf, startCommandLine } from '../../support/cli/start-command-line.js';
import type { ClusterSystem } from '../../support/clusters/start-cluster-system.js';

/* The command of teams against real services, as people and pipelines run it: docs/cli.md. More is in `long/system/cli`. */

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
  it('keeps a session of its own in a file of its owner, until `logout` ends it', async () => {
    const corral = await corralCommand();
    const login = corral.start(['login', '--url', apiUrl, '--no-browser']);
    const [page = ''] = await login.untilSaid(/http\S+authorize\S+/);
    // Somebody else on the machine guesses the port.
    const redirect = new URL(page).searchParams.get('redirect_uri');
    expect((await fetch(`${redirect}?code=x&state=guessed`)).status).toBe(400);
    await allowInBrowser(page, 'member@globex.test');
    expect(await login.ended).toMatchObject({ code: 0, out: expect.stringContaining('team globex') });

    expect((await stat(corral.configPath)).mode & 0o777).toBe(0o600);
    expect(await corral.json('whoami')).toMatchObject({ email: 'member@globex.test' });
    const session = /session: (\S+)/.exec(await readFile(corral.configPath, 'utf8'))?.[1];
    expect((await corral.run('logout')).code).toBe(0);

    expect(await readFile(corral.configPath, 'utf8')).not.toContain(session);
    expect((await corral.run('clusters', 'list')).code).toBe(3);
    const answer = await fetch(`${apiUrl}/api/v1/me/`, { headers: { cookie: `sessionid=${session}` } });
    expect(answer.status).toBe(401);
    await corral.remove();
  });
});

describe('clusters', () => {
  it('are planned, applied, changed, waited for and deleted, and the exit code says how it went', async () => {
    const file = await fileOf(ci, 'web.yaml', declared('web'), declared('api'));
    expect(await ci.run('clusters', 'diff', '-f', file)).toMatchObject({
      code: 1,
      out: expect.stringContaining('+ cluster web'),
    });

    const applied = await ci.json('clusters', 'apply', '-f', file, '--wait');
    expect(applied).toEqual(
      ['web', 'api'].map((name) => ({
        name,
        result: 'created',
        operation: { id: expect.any(String), state: 'succeeded' },
        removals: [],
        error: null,
        exitCode: 0,
      })),
    );
    expect(await ci.run('clusters', 'diff', '-f', file)).toMatchObject({ code: 0 });
    const again = await ci.json('clusters', 'apply', '-f', file);
    expect(again.map(({ result }: { result: string }) => result)).toEqual(['unchanged', 'unchanged']);
    // What was read can be applied.
    const { out: exported } = await ci.run('clusters', 'export');
    expect((await ci.runWith({ input: exported }, 'clusters', 'diff', '--prune', '-f', '-')).code).toBe(0);

    await fileOf(ci, 'web.yaml', declared('web', { kubernetesVersion: '1.34' }));
    expect((await ci.run('clusters', 'plan', '-f', file, '--out', `${file}.plan`)).code).toBe(0);
    expect(await ci.json('clusters', 'apply', `${file}.plan`)).toMatchObject([
      { result: 'changed', removals: [{ target: 'nodePool', pool: 'general', kind: 'replaced' }] },
    ]);

    expect((await ci.run('clusters', 'wait', 'web', '--timeout', '1m')).code).toBe(0);
    expect((await ci.run('clusters', 'wait', 'web', '--for', 'hibernated', '--timeout', '1s')).code).toBe(6);
    expect(await ci.json('clusters', 'delete', 'api', '--yes', '--wait')).toMatchObject({
      operation: { state: 'succeeded' },
    });
    expect((await ci.run('clusters', 'wait', 'api')).code).toBe(4);
    expect(await ci.json('clusters', 'list')).toEqual([
      expect.objectContaining({ metadata: expect.objectContaining({ name: 'web' }) }),
    ]);
  });
});

describe('record sets', () => {
  let dns: Corral;
  beforeAll(async () => {
    const { out: token } = await ann.run('tokens', 'dns', 'create', 'cli', '--expires', '1d');
    dns = await corralCommand({ CORRAL_DNS_URL: dnsUrl, CORRAL_DNS_TOKEN: token.trim() });
  });
  afterAll(() => dns?.remove());

  it('are set, listed and deleted', async () => {
    expect(await dns.json('dns', 'whoami')).toMatchObject({ team: 'acme', names: ['acme'] });
    const set = ['dns', 'set', 'www.acme', 'a', '192.0.2.1', '192.0.2.2', '--ttl', '300', '--label', 'env=prod'];
    expect((await dns.run(...set)).code).toBe(0);
    expect(await dns.run(...set)).toMatchObject({ code: 0, out: '1 unchanged. 2 records afterwards.\n' });
    await dns.json('dns', 'set', 'www.acme', 'A', '192.0.2.3', '--add');
    await dns.json('dns', 'delete', 'www.acme', 'A', '192.0.2.1', '--yes');
    await dns.json('dns', 'set', 'txt.acme', 'TXT', 'say "hello"; twice');

    expect(await dns.json('dns', 'list', 'www.acme')).toEqual([
      {
        name: 'www.acme',
        type: 'A',
        ttl: 300,
        labels: { env: 'prod' },
        records: [expect.objectContaining({ value: '192.0.2.2' }), expect.objectContaining({ value: '192.0.2.3' })],
      },
    ]);
    expect((await system.cloud.stated()).get('txt.acme/TXT')).toContain(JSON.stringify('"say \\"hello\\"; twice"'));
    expect(await dns.run('dns', 'set', 'www.globex', 'A', '192.0.2.1')).toMatchObject({
      code: 1,
      err: expect.stringContaining('does not belong to you'),
    });
    expect((await dns.run('dns', 'delete', 'none.acme', 'A', '--yes')).code).toBe(4);
  });

  it('of ACME challenges that nobody took away are listed and deleted, and those of today stay', async () => {
    for (const name of ['_acme-challenge.old', '_acme-challenge.new']) {
      await dns.json('dns', 'set', `${name}.acme`, 'TXT', 'a-challenge');
    }
    await system.pool.query(`UPDATE dns_rrset SET updated_at = now() - interval '2 days' WHERE name LIKE '%.old.acme'`);

    expect(await ann.json('dns', 'leftovers')).toMatchObject([{ name: '_acme-challenge.old.acme' }]);
    expect((await ann.run('dns', 'leftovers', '--delete', '--dry-run')).out).toContain(
      '- _acme-challenge.old.acme TXT',
    );
    expect((await ann.run('dns', 'leftovers', '--delete')).code).toBe(2);
    expect((await ann.run('dns', 'leftovers', '--delete', '--yes')).code).toBe(0);

    expect(await ann.json('dns', 'leftovers')).toEqual([]);
    expect(await dns.json('dns', 'list', '_acme-challenge.new.acme')).toHaveLength(1);
    await dns.json('dns', 'delete', '_acme-challenge.new.acme', 'TXT', '--yes');
  });

  it('go out and in again by zone file, and a second import changes nothing', async () => {
    await dns.json('dns', 'set', 'kept.acme', 'A', '192.0.2.99');
    const { length: kept } = await dns.json('dns', 'list');
    const { out: zone } = await dns.run('dns', 'export');
    const lines = Array.from({ length: 12 }, (_none, at) => `h${at}.acme 60 IN A 192.0.2.${at + 1}`);
    const file = await fileOf(dns, 'acme.zone', zone, '');
    await writeFile(file, `${zone}${lines.join('\n')}\n`);

    expect(await dns.run('dns', 'diff', file)).toMatchObject({ code: 1, out: expect.stringContaining('12 to add') });
    const running = dns.start(['dns', 'import', file, '--yes']);
    await running.untilSaid(/1 of 12 done/);
    running.signal('SIGINT');
    expect(await running.ended).toMatchObject({
      code: 130,
      err: expect.stringContaining('Run the same command again'),
    });

    expect(await dns.run('dns', 'import', file, '--yes')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^\d to add/m),
    });
    expect(await dns.run('dns', 'import', file, '--yes')).toMatchObject({
      code: 0,
      out: expect.stringContaining(`${kept + 12} unchanged`),
    });
    await writeFile(file, zone);
    const most = `This removes 12 of ${kept + 12} record sets.`;
    expect(await dns.run('dns', 'import', file, '--yes', '--prune')).toMatchObject({
      code: 2,
      err: expect.stringContaining(`${most} No terminal to prompt on. Pass --prune=12`),
    });
    expect(await dns.json('dns', 'list')).toHaveLength(kept + 12);
    expect(await dns.run('dns', 'import', file, '--yes', '--prune=12')).toMatchObject({
      code: 0,
      out: expect.stringContaining('12 to remove'),
    });
    expect(await dns.json('dns', 'list')).toHaveLength(kept);
  });
});

describe('a team as files', () => {
  const head = (kind: string, metadata: object) => ({ apiVersion: 'clusters.corral.dev/v1', kind, metadata });
  const set = { name: 'new.git.acme', type: 'A', labels: { env: 'prod' }, records: [{ value: '192.0.2.7' }] };
  const issuer = {
    issuer: 'https://git.example.org',
    claims: { sub: 'project_path:acme/shop:*' },
    serviceAccount: 'robot',
  };
  /** One of each kind. */
  const additions = (issued: object = {}) => [
    declared('git'),
    ...[
      { ...head('RecordSets', { team: 'acme' }), spec: { recordSets: [set] } },
      { ...head('ServiceAccount', { name: 'robot' }), spec: { role: 'viewer' } },
      { ...head('TrustedIssuer', { name: 'git' }), spec: { ...issuer, audience: apiUrl, ...issued } },
    ].map((document) => `${JSON.stringify(document)}\n`),
  ];

  it('is exported, changed in one plan that is made as a whole or not at all, and pruned', async () => {
    await fileOf(ann, 'kept.yaml', declared('kept'));
    await ann.json('clusters', 'apply', '-f', join(ann.folder, 'kept.yaml'), '--wait');
    await ann.json('dns', 'set', 'git.acme', 'A', '192.0.2.1', '--ttl', '300', '--label', 'a=b', '--comment', 'ours');
    await ann.json(
      ...['issuers', 'set', 'kept', '--issuer', issuer.issuer, '--audience', apiUrl, '--account', 'ci'],
      ...['--claim', `sub=${issuer.claims.sub}`],
    );
    const team = join(ann.folder, 'team');
    expect(await ann.run('export', team)).toMatchObject({
      code: 0,
      out: ['clusters', 'records', 'access'].map((name) => `${join(team, name)}.yaml\n`).join(''),
      err: expect.stringContaining('Connections, people and tokens are left out'),
    });
    expect(await ann.run('diff', '--prune', '-f', team)).toMatchObject({ code: 0, err: '' });

    const more = await fileOf(ann, 'team/more.yaml', ...additions({ serviceAccount: 'nobody' }));
    expect(await ann.run('apply', '-f', team, '--yes')).toMatchObject({
      code: 1,
      err: expect.stringContaining('document 4: Declare the service account nobody, too.'),
    });
    expect(await ann.run('dns', 'list', 'new.git.acme')).toMatchObject({ out: 'There are no record sets.\n' });

    await fileOf(ann, 'team/more.yaml', ...additions());
    expect(await ann.run('diff', '-f', team)).toMatchObject({
      code: 1,
      out: expect.stringMatching(
        /\+ cluster git\n[\s\S]*\+ new\.git\.acme A {2}env=prod\n[\s\S]*\+ service account robot\n[\s\S]*\+ trusted issuer git\n[\s\S]*Records: \d+ of \d+\.\nCost: \+[\d.]+ EUR a month\.\n$/,
      ),
    });
    expect(await ann.run('apply', '-f', team)).toMatchObject({ code: 2, err: expect.stringContaining('Pass --yes') });
    const applied = await ann.json('apply', '-f', team, '--yes', '--wait');
    expect(applied.filter(({ result }: { result: string }) => result !== 'unchanged')).toMatchObject([
      { kind: 'Cluster', name: 'git', result: 'created', operation: { state: 'succeeded' } },
      { kind: 'RecordSet', name: 'new.git.acme A', result: 'created' },
      { kind: 'ServiceAccount', name: 'robot', result: 'created' },
      { kind: 'TrustedIssuer', name: 'git', result: 'created' },
    ]);
    expect((await ann.run('diff', '--prune', '-f', team)).code).toBe(0);

    await rm(more);
    expect(await ann.run('apply', '-f', team, '--prune', '--yes')).toMatchObject({
      code: 2,
      err: expect.stringContaining(
        'This deletes 4 resources that no file names: cluster git, record set new.git.acme A, service account robot, trusted issuer git.',
      ),
    });
    const pruned = await ann.json('apply', '-f', team, '--prune=4', '--yes', '--wait');
    expect(pruned.map(({ kind, result }: Record<string, string>) => `${kind} ${result}`)).toEqual(
      expect.arrayContaining([
        'RecordSet deleted',
        'TrustedIssuer deleted',
        'ServiceAccount deleted',
        'Cluster deleting',
      ]),
    );
    expect((await ann.run('diff', '--prune', '-f', team)).code).toBe(0);
  });

  it('is exported without access by a program, which may not read that', async () => {
    const { code, out, err } = await ci.run('export');

    expect({ code, hasAccess: out.includes('kind: ServiceAccount') }).toEqual({ code: 0, hasAccess: false });
    expect(err).toContain('Service accounts and trusted issuers are left out: you have no access to them.');
    const access = { ...head('ServiceAccount', { name: 'ci' }), spec: { role: 'admin' } };
    expect(await ci.runWith({ input: JSON.stringify(access) }, 'diff', '-f', '-')).toMatchObject({
      code: 2,
      err: expect.stringContaining('permission_denied'),
    });
  });
});

describe('a webhook', () => {
  it('tells a receiver what happens in the team, and is deleted', async () => {
    const receiver = await startWebhookReceiver();
    try {
      const { out: secret, err } = await ann.run(
        'webhooks',
        'set',
        'chat',
        '--url',
        receiver.url,
        '--kind',
        'DnsToken',
      );
      expect(err).toContain('It is shown only now.');
      await ann.json('tokens', 'dns', 'create', 'watched', '--expires', '1d');
      const verifier = new Webhook(secret.trim());
      const messages = () => receiver.received.map(({ payload, headers }) => verifier.verify(payload, headers));
      await waitFor('both messages', async () => receiver.received.length === 2);

      expect(messages()).toMatchObject([
        { type: 'ready', data: { team: 'acme' } },
        { type: 'dns_token.changed', data: { team: 'acme', name: 'watched' } },
      ]);
      expect((await ann.run('webhooks', 'replay', 'chat', '--for', '1h')).code).toBe(0);
      await waitFor('the events again', async () => receiver.received.length > 2);
      expect(await ann.run('webhooks', 'list')).toMatchObject({ code: 0, out: expect.stringMatching(/chat .* ok\n/) });
      expect((await ann.run('webhooks', 'delete', 'chat', '--yes')).code).toBe(0);
      expect(await ann.run('webhooks', 'list')).toMatchObject({ out: 'There are no webhooks.\n' });
    } finally {
      await receiver.close();
    }
  });
});

describe('a pipeline without a DNS token', () => {
  /** A client that knows the variables of the upstream only. */
  const write = (name: string) => [
    process.execPath,
    '--input-type=module',
    '--eval',
    `const { HCLOUD_ENDPOINT, HCLOUD_TOKEN } = process.env;
     const body = JSON.stringify({ name: '${name}', type: 'A', records: [{ value: '192.0.2.1' }] });
     const headers = { authorization: 'Bearer ' + HCLOUD_TOKEN, 'content-type': 'application/json' };
     const { zones } = await (await fetch(HCLOUD_ENDPOINT + '/zones', { headers })).json();
     const url = HCLOUD_ENDPOINT + '/zones/' + zones[0].id + '/rrsets';
     const { status } = await fetch(url, { method: 'POST', headers, body });
     console.log(status);
     process.exit(status === 201 ? 0 : 9);`,
  ];

  it('runs a client of the upstream with a token of its service account, and exits as that client does', async () => {
    expect(await ci.run('dns', 'token', '--', ...write('piped.acme'))).toMatchObject({ code: 0, out: '201\n' });
    await ann.json('accounts', 'set', 'ci', '--role', 'member', '--dns-within', 'ci.acme');
    expect(await ci.run('dns', 'token', '--', ...write('other.acme'))).toMatchObject({ code: 9, out: '403\n' });
    expect(await ci.run('dns', 'token', '--', ...write('web.ci.acme'))).toMatchObject({ code: 0, out: '201\n' });

    const [entry] = await ann.json('audit', '--kind', 'dns', '--limit', '1');
    expect(entry).toMatchObject({ actor: { kind: 'account', name: 'ci' }, target: { name: 'web.ci.acme' } });
  });
});

describe('a change that was made', () => {
  it('is taken back, also after a kill in the middle, and a later change of others only where that is said', async () => {
    const names = Array.from({ length: 12 }, (_, at) => `undo-${at}.acme`);
    const input = names.map((name) => `${name} 300 IN A 192.0.2.1`).join('\n');
    const { err } = await ann.runWith({ input }, 'dns', 'import', '-', '--yes');
    expect(await ann.json('dns', 'list', '--type', 'A')).toEqual(
      expect.arrayContaining(names.map((name) => expect.objectContaining({ name }))),
    );
    const [, told] = /Take it back: corral audit undo (.*--actor admin@acme\.test)$/m.exec(err) ?? [];
    const span = [...(told as string).split(' '), '--yes'];

    const undo = ann.start(['audit', 'undo', ...span]);
    await undo.untilSaid(/record sets: 1 of 12 done/);
    undo.signal('SIGKILL');
    await undo.ended;
    expect(await ann.run('audit', 'undo', ...span)).toMatchObject({ code: 0 });

    const left = await ann.json('dns', 'list');
    expect(left.filter(({ name }: { name: string }) => names.includes(name))).toEqual([]);

    await ann.run('dns', 'set', 'undo.ci.acme', 'A', '192.0.2.1');
    const [{ id }] = await ann.json('audit', '--name', 'undo.ci.acme', '--limit', '1');
    await ci.run('dns', 'set', 'undo.ci.acme', 'A', '192.0.2.2');
    expect(await ann.run('audit', 'undo', id, '--yes')).toMatchObject({
      code: 5,
      out: expect.stringContaining('changed since:'),
      err: expect.stringContaining('--overwrite'),
    });
    expect(await ann.run('audit', 'undo', id, '--yes', '--overwrite')).toMatchObject({ code: 0 });
    expect(await ann.json('dns', 'list', 'undo.ci.acme')).toEqual([]);
  });
});

describe('the command of teams', () => {
  it('says what works for a person and for a service account', async () => {
    expect(await ann.run('doctor')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/token +admin@acme\.test is signed in, and is admin of team acme/),
    });
    expect(await ci.run('doctor')).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /token +The token is that of a service account of team acme.*\nok +dns +The token ci is accepted/,
      ),
    });
  });

  it('sends any request of the API, and says a refusal as data', async () => {
    expect(await ci.json('api', 'get', '/api/v1/teams/{team}/clusters/')).toMatchObject({ items: expect.any(Array) });
    const refused = await ci.runWith({}, 'api', 'GET', '/api/v1/teams/globex/clusters/', '-o', 'json');
    expect(refused.code).toBe(4);
    expect(JSON.parse(refused.err)).toMatchObject({
      error: { status: 404, code: 'not_found', exitCode: 4, requestId: expect.any(String) },
    });
  });
});

describe('a command that cannot do its work', () => {
  it('ends with 3 for a token that is not accepted, without quoting it', async () => {
    const env = { CORRAL_TOKEN: 'corral_notatokenatall', CORRAL_DNS_URL: dnsUrl, CORRAL_DNS_TOKEN: 'x'.repeat(64) };

    expect((await ci.runWith({ env }, 'clusters', 'list')).code).toBe(3);
    expect((await ci.runWith({ env }, 'dns', 'list')).code).toBe(3);
    expect((await ci.runWith({ env: { CORRAL_TOKEN: 'with\nbreak' } }, 'clusters', 'list')).code).toBe(2);
  });
});
