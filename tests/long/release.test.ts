import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createEmptyDatabase, describeNeeding, unlessInstalled } from '@corral/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { ZONE } from '../support/system/system-parts.js';
import { startPreviousRelease, type TwoReleases } from '../support/system/two-releases.js';

/* Everything that a release consists of, installed into empty folders with nothing of the checkout. */

const repository = fileURLToPath(new URL('../..', import.meta.url));
const VERSION = '1.0.0-rc.1';
const PLATFORM = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`;

const TERRAFORM = { what: 'Terraform', how: 'put terraform 1.11 or newer on PATH, and Go', isRare: true };

const missingTerraform = () =>
  unlessInstalled(['go', 'version'], TERRAFORM) ?? unlessInstalled(['terraform', 'version'], TERRAFORM);

describe('a release', () => {
  const root = mkdtempSync(join(tmpdir(), 'corral-released-'));
  const release = join(root, 'release');
  let running: TwoReleases;
  afterAll(async () => {
    await running?.stop();
    rmSync(root, { recursive: true, force: true });
  });

  beforeAll(async () => {
    await make(release);
    for (const archive of filesIn('services')) await unpack(`services/${archive}`);
    running = await startPreviousRelease({
      programOf: (app) => join(root, `corral-${app}-${VERSION}`, 'dist/main.js'),
      migrationsDir: join(root, `corral-admin-${VERSION}`, 'migrations'),
    });
  }, 900_000);

  const filesIn = (folder: string): string[] => readdirSync(join(release, folder)).sort();
  const unpack = (file: string) => run(['tar', '-xzf', join(release, file)], root);
  const folderFor = (name: string): string => {
    const folder = join(root, name);
    mkdirSync(folder);
    return folder;
  };

  it('has checksums that are right, and the same ones when it is made again', async () => {
    const sums = readFileSync(join(release, 'SHA256SUMS'), 'utf8');
    const again = join(root, 'again');
    await make(again);

    await run(['sha256sum', '--check', '--strict', '--quiet', 'SHA256SUMS'], release);
    expect(readFileSync(join(again, 'SHA256SUMS'), 'utf8')).toBe(sums);
  }, 900_000);

  it('has services that serve both APIs, and tell the version', async () => {
    for (const { base } of [running.dns, running.clusters]) {
      expect(await (await fetch(`${base}/healthz`)).json()).toEqual({ status: 'ok', version: VERSION });
    }
    const unit = readFileSync(join(root, `corral-dns-gateway-${VERSION}`, 'corral@.service'), 'utf8');
    expect(unit).toContain('ExecStart=/usr/bin/node dist/main.js');
    expect(readFileSync(join(root, `corral-cluster-api-${VERSION}`, 'LICENSE'), 'utf8')).toContain('Apache License');
  });

  it.each(['npm', 'a single file'])('has the command of teams, as %s', async (how) => {
    const folder = folderFor(`corral from ${how}`);
    const corral = how === 'npm' ? await installed(folder, `corral-${VERSION}.tgz`, 'corral') : await single('corral');
    const env = { CORRAL_DNS_URL: `${running.dns.base}/v1`, CORRAL_DNS_TOKEN: running.dnsToken, CORRAL_TEAM: 'acme' };

    expect(await run([corral, '--version'], folder)).toBe(`${VERSION}\n`);
    expect(await run([corral, 'dns', 'list', '--output', 'json'], folder, env)).toContain('[');
  });

  it('has the typed client, which needs nothing else', async () => {
    const folder = folderFor('client');
    await installed(folder, `corral-client-${VERSION}.tgz`);
    const program = `import { createDnsClient } from '@corral/client';
const dns = createDnsClient({ baseUrl: process.env.URL, credentials: { bearer: process.env.TOKEN } });
for await (const { name } of dns.list('listZones', {})) console.log(name);
`;
    writeFileSync(join(folder, 'main.mjs'), program);

    const env = { URL: `${running.dns.base}/v1`, TOKEN: running.dnsToken };
    expect(await run([process.execPath, 'main.mjs'], folder, env)).toBe(`${ZONE}\n`);
    expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['@corral']);
    const manifest = JSON.parse(readFileSync(join(folder, 'node_modules/@corral/client/package.json'), 'utf8'));
    expect(manifest.repository.url).toContain('github.com');
  });

  it.each(['an archive', 'a single file'])(
    'has the command of operators as %s, which migrates an empty database',
    async (how) => {
      const database = await createEmptyDatabase();
      try {
        const env = { DATABASE_URL: database.url, DNS_ZONE_NAME: ZONE, DATABASE_ROLE_PREFIX: 'released_' };
        const folder = folderFor(`corral-admin from ${how}`);
        const ofArchive = [process.execPath, join(root, `corral-admin-${VERSION}`, 'dist/main.js')];
        const admin = how === 'an archive' ? ofArchive : [await single('corral-admin')];

        expect(await run([...admin, '--version'], folder)).toBe(`${VERSION}\n`);
        await run([...admin, 'migrate'], folder, env);
        expect(await run([...admin, '--as', 'ada', 'team', 'create', 'acme'], folder, env)).toContain('acme');
      } finally {
        await database.drop();
      }
    },
  );

  it('has the chart, the OpenAPI documents, and bills of materials with time and tool', async () => {
    await unpack(`chart/corral-${VERSION}.tgz`);
    const chart = parse(readFileSync(join(root, 'corral/Chart.yaml'), 'utf8'));
    expect([chart.version, chart.appVersion]).toEqual([VERSION, VERSION]);
    expect(filesIn('openapi')).toEqual(['cluster-api.json', 'dns-api.json']);
    for (const file of filesIn('sbom')) {
      const { metadata } = JSON.parse(readFileSync(join(release, 'sbom', file), 'utf8'));
      expect([file, metadata.component.version]).toEqual([file, VERSION]);
      expect(Date.parse(metadata.timestamp)).not.toBeNaN();
      expect(metadata.tools.components).toHaveLength(1);
    }
  });

  describeNeeding(describe, missingTerraform(), 'for Terraform', () => {
    it('has the provider, which Terraform finds without a registry', async () => {
      const home = folderFor('terraform');
      const plugins = join(home, '.terraform.d/plugins');
      mkdirSync(plugins, { recursive: true });
      await run(
        ['tar', '-xzf', `terraform/terraform-provider-corral-${VERSION}-${PLATFORM}.tar.gz`, '-C', plugins],
        release,
      );
      const corral = `{ source = "corral/corral", version = "${VERSION}" }`;
      writeFileSync(join(home, 'main.tf'), `terraform {\n  required_providers {\n    corral = ${corral}\n  }\n}\n`);

      const env = { HOME: home, CHECKPOINT_DISABLE: '1' };
      await run(['terraform', 'init', '-input=false'], home, env);
      expect(await run(['terraform', 'providers', 'schema', '-json'], home, env)).toContain('corral_cluster');
    });
  });

  async function make(out: string): Promise<void> {
    await run(
      ['npm', 'run', '-s', 'release', '--', VERSION, '--platform', PLATFORM, '--out', out],
      repository,
      process.env,
    );
  }

  /** @returns the path of the command */
  async function installed(folder: string, archive: string, command = ''): Promise<string> {
    writeFileSync(join(folder, 'package.json'), '{ "private": true }');
    await run(
      ['npm', 'install', '--offline', '--no-audit', '--no-fund', join(release, 'npm', archive)],
      folder,
      process.env,
    );
    return join(folder, 'node_modules/.bin', command);
  }

  async function single(command: string): Promise<string> {
    const folder = `${command}-${VERSION}-${PLATFORM}`;
    await unpack(`programs/${folder}.tar.gz`);
    return join(root, folder, command);
  }
});

/** Runs a program without the environment of the tests, but for the path. The proxy in front of the services is in this process, so nothing blocks it. */
async function run([command = '', ...args]: string[], cwd: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const { PATH, HOME } = process.env;
  const { stdout } = await promisify(execFile)(command, args, { cwd, env: { PATH, HOME, ...env } });
  return stdout;
}
