import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeNeeding, freePort, waitFor } from '@corral/testing';
import { startTokenIssuer, type TokenIssuer } from '@corral/testing/token-issuer';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Corral, corralCommand } from '../support/cli/corral.js';
import {
  builtInAddress,
  certifyUpstreamName,
  tlsOfUpstreamName,
  UPSTREAM_NAME,
} from '../support/clients/built-in-name.js';
import { type Client, externalDns, hcloudGo, legoChallenge, missingOf } from '../support/clients/client-programs.js';
import { callDns } from '../support/clients/dns-api.js';
import { type ForwardProxy, startForwardProxy } from '../support/clients/forward-proxy.js';
import { runCommand } from '../support/clients/run-command.js';
import { type ClusterSystem, type ClusterTeam, startClusterSystem } from '../support/clusters/start-cluster-system.js';
import { builtFile } from '../support/system/program.js';
import { ZONE } from '../support/system/system-parts.js';

/* A pipeline that has the token of its job and nothing else, as docs/how-to/terraform-in-ci.md says. */

const [terraform, lego, records] = [await hcloudGo(), await legoChallenge(), await externalDns()];
const missing = [terraform, lego, records].map(missingOf).find((each) => each !== null) ?? null;
const commandOf = (client: Client): readonly string[] => (client.kind === 'found' ? client.command : []);
const SUBJECT = 'repo:acme/shop:ref:refs/heads/main';

describeNeeding(describe, missing, 'a pipeline with exchanged tokens only, for shop.acme', () => {
  let folder: string;
  let system: ClusterSystem;
  let team: ClusterTeam;
  let proxy: ForwardProxy;
  let issuer: TokenIssuer;
  let corral: Corral;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'corral-exchanged-'));
    await certifyUpstreamName(folder);
    const tlsPort = await freePort();
    system = await startClusterSystem({ gateways: 1, gatewayEnv: () => tlsOfUpstreamName(folder, tlsPort) });
    proxy = await startForwardProxy(`${UPSTREAM_NAME}:443`, tlsPort);
    [team] = system.teams as [ClusterTeam];
    issuer = await startTokenIssuer();
    corral = await corralCommand();
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
  afterAll(async () => {
    await corral?.remove();
    await issuer?.close();
    await proxy?.stop();
    await system?.stop();
    await rm(folder, { recursive: true, force: true });
  });

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
  const challenge = async (token: string, step: string, name: string) => {
    const env = builtInAddress(folder, { proxyUrl: proxy.url, token });
    const args = [step, `${name}.${ZONE}`, `127.0.0.1:${system.cloud.dnsPort}`];
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
    const name = '_acme-challenge.shop.acme/TXT';

    expect(await challenge(out.trim(), 'present', 'shop.acme')).toMatchObject({ code: 0 });
    expect(await namesOf()).toContain(name);
    expect(await challenge(out.trim(), 'present', 'docs.acme')).toMatchObject({ code: 1 });
    expect(await challenge(out.trim(), 'cleanup', 'shop.acme')).toMatchObject({ code: 0 });
    expect(await namesOf()).not.toContain(name);

    const { json } = await team.admin.insist({ method: 'GET', path: '/audit/?kind=dns&limit=1' });
    expect(JSON.stringify(json.items)).toContain(SUBJECT);
    await team.admin.insist({ method: 'DELETE', path: '/trusted-issuers/ci/' });
    const zones = { method: 'GET', path: '/zones', token: out.trim() };
    const gateway = system.gateways[0]?.url as string;
    await waitFor('the token to end', async () => (await callDns(gateway, zones)).status === 401);
    expect(await challenge(out.trim(), 'present', 'shop.acme')).toMatchObject({ code: 1 });
  });
});
