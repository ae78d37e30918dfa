import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeNeeding, waitFor } from '@corral/testing';
import { startTokenIssuer } from '@corral/testing/token-issuer';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Corral, corralCommand } from '../support/cli/corral.js';
import { ownUpstreamName, type UpstreamName } from '../support/clients/built-in-name.js';
import { type Client, externalDns, hcloudGo, legoChallenge, missingOf } from '../support/clients/client-programs.js';
import { callDns } from '../support/clients/dns-api.js';
import { runCommand } from '../support/clients/run-command.js';
import { type ClusterSystem, type ClusterTeam, startClusterSystem } from '../support/clusters/start-cluster-system.js';
import { builtFile } from '../support/system/program.js';
import { type Ends, ownFolder, undo, ZONE } from '../support/system/system-parts.js';

/* A pipeline that has the token of its job and nothing else, as docs/how-to/terraform-in-ci.md says. */

const [terraform, lego, records] = [await hcloudGo(), await legoChallenge(), await externalDns()];
const missing = [terraform, lego, records].map(missingOf).find((each) => each !== null) ?? null;
const commandOf = (client: Client): readonly string[] => (client.kind === 'found' ? client.command : []);
const SUBJECT = 'repo:acme/shop:ref:refs/heads/main';

describeNeeding(describe, missing, 'a pipeline with exchanged tokens only, for shop.acme', () => {
  const ends: Ends = [];
  let folder: string;
  let system: ClusterSystem;
  let team: ClusterTeam;
  let name: UpstreamName;
  let corral: Corral;
  beforeAll(async () => {
    folder = await ownFolder(ends);
    name = await ownUpstreamName(ends);
    system = await startClusterSystem({ gateways: 1, gatewayEnv: () => name.gatewayEnv });
    ends.push(system.stop);
    [team] = system.teams as [ClusterTeam];
    const issuer = await startTokenIssuer();
    ends.push(issuer.close);
    corral = await corralCommand();
    ends.push(corral.remove);
    const url = system.apis[0]?.base as string;
    const declare = (path: string, spec: object) => team.admin.insist({ method: 'PUT', path, body: { spec } });
    await declare('/service-accounts/shop/', { role: 'member', narrowing: { dns: { withinName: 'shop.acme' } } });
    const trust = { issuer: issuer.url, audience: url, claims: { sub: SUBJECT }, serviceAccount: 'shop' };
    await declare('/trusted-issuers/ci/', trust);

    const file = join(folder, 'id-token');
    await writeFile(file, await issuer.sign({ aud: url, sub: SUBJECT }));
    const as = ['--team', 'acme', '--account', 'shop', '--subject-token-file', file];
    expect(await corral.run('login', '--url', url, '--exchange', ...as)).toMatchObject({ code: 0 });
  });
  afterAll(() => undo(ends));

  const namesOf = async (): Promise<string[]> => [...(await system.cloud.stated()).keys()].sort();
  const inPipeline = (env: Readonly<Record<string, string>>, ...command: string[]) =>
    corral.runWith({ env: { HCLOUD_TOKEN: undefined, ...env } }, 'dns', 'token', '--', ...command);
  const applied = async (
    client: Client,
    wanted: readonly object[],
    env: Readonly<Record<string, string>> = {},
    ...first: string[]
  ) => {
    const file = join(folder, 'wanted.json');
    await writeFile(file, JSON.stringify(wanted));
    const scene = { CORRAL_ZONE: ZONE, CORRAL_TEAM: 'acme', CORRAL_WANTED: file, CORRAL_FOLDER: folder };
    return inPipeline({ ...scene, ...env }, ...commandOf(client), ...first, 'apply');
  };
  const challenge = async (token: string, step: string, of: string) => {
    const env = name.clientEnv({ token });
    const args = [step, `${of}.${ZONE}`, `127.0.0.1:${system.cloud.dnsPort}`];
    return runCommand([...commandOf(lego), ...args], { env });
  };

  it('has the calls of Terraform keep record sets there, and nowhere else', async () => {
    const setsOf = (name: string) =>
      Array.from({ length: 12 }, (_, at) => ({ name: `tf${at}.${name}`, type: 'A', ttl: 300, values: ['192.0.2.1'] }));

    expect(await applied(terraform, setsOf('shop.acme'), {}, '10')).toMatchObject({ code: 0 });
    expect((await namesOf()).filter((name) => name.endsWith('.shop.acme/A'))).toHaveLength(12);
    expect(await applied(terraform, setsOf('docs.acme'), {}, '10')).toMatchObject({ code: 1 });
    expect((await namesOf()).filter((name) => name.includes('docs.acme'))).toEqual([]);
  });

  it('has ExternalDNS keep record sets and their owners', async () => {
    const wanted = [{ name: 'www.shop.acme', type: 'A', ttl: 300, values: ['192.0.2.1'] }];
    const flags = ['--provider=webhook', '--source=service', '--registry=txt', '--policy=sync'];
    const registry = ['--txt-owner-id=shop', '--txt-prefix=reg-%{record_type}.', `--domain-filter=shop.acme.${ZONE}`];
    const env = {
      CORRAL_FOLDER: builtFile('tests/clients/external-dns'),
      CORRAL_FLAGS: JSON.stringify([...flags, ...registry]),
    };

    expect(await applied(records, wanted, env)).toMatchObject({ code: 0, out: expect.stringContaining('create 1, ') });
    expect(await namesOf()).toEqual(expect.arrayContaining(['reg-a.www.shop.acme/TXT', 'www.shop.acme/A']));
  });

  it('has lego write and remove a challenge, until the team no longer trusts the issuer; the audit log has the subject', async () => {
    const { out } = await corral.run('dns', 'token');
    const set = '_acme-challenge.shop.acme/TXT';

    expect(await challenge(out.trim(), 'present', 'shop.acme')).toMatchObject({ code: 0 });
    expect(await namesOf()).toContain(set);
    expect(await challenge(out.trim(), 'present', 'docs.acme')).toMatchObject({ code: 1 });
    expect(await challenge(out.trim(), 'cleanup', 'shop.acme')).toMatchObject({ code: 0 });
    expect(await namesOf()).not.toContain(set);

    const { json } = await team.admin.insist({ method: 'GET', path: '/audit/?kind=dns&limit=1' });
    expect(JSON.stringify(json.items)).toContain(SUBJECT);
    await team.admin.insist({ method: 'DELETE', path: '/trusted-issuers/ci/' });
    const zones = { method: 'GET', path: '/zones', token: out.trim() };
    const gateway = system.gateways[0]?.url as string;
    await waitFor('the token to end', async () => (await callDns(gateway, zones)).status === 401);
    expect(await challenge(out.trim(), 'present', 'shop.acme')).toMatchObject({ code: 1 });
  });
});
