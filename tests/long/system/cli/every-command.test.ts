import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Corral } from '../../../support/cli/corral.js';
import { type CommandLine, fileOf, startCommandLine } from '../../../support/cli/start-command-line.js';

/* Commands that `system/cli` leaves out, and what the others refuse. */

let cli: CommandLine;
let ann: Corral;
let ci: Corral;
let apiUrl: string;
let declared: CommandLine['declared'];

beforeAll(async () => {
  cli = await startCommandLine();
  ({ ann, ci, apiUrl, declared } = cli);
});
afterAll(() => cli?.stop());

describe('clusters', () => {
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
