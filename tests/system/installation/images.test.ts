import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { databaseServices, roleOf } from '@corral/database';
import { describe, expect, it } from '@jest/globals';
import { validate } from 'dockerfile-utils';
import { parse } from 'yaml';

const repository = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const read = (path: string): string => readFileSync(join(repository, path), 'utf8');
const dockerfile = read('infra/Dockerfile');
const images = ['dns-gateway', 'cluster-api', 'reconciler', 'admin'];

describe('the Dockerfile', () => {
  it('passes the linter', () => {
    expect(validate(dockerfile)).toEqual([]);
  });

  it('builds images that do not run as root', () => {
    const runtime = dockerfile.slice(dockerfile.indexOf('AS runtime'), dockerfile.indexOf('AS dns-gateway'));

    expect(runtime).toMatch(/^USER [1-9]\d*$/m);
    expect(dockerfile.slice(dockerfile.indexOf('AS cli'))).toMatch(/^USER [1-9]\d*$/m);
    expect(images.every((image) => dockerfile.includes(`FROM runtime AS ${image}`))).toBe(true);
  });

  it('labels every image with licence, version, commit and source', () => {
    const stages = dockerfile.split(/^(?=FROM )/m).filter((stage) => / AS (?:runtime|cli)$/m.test(stage));

    expect(stages).toHaveLength(2);
    for (const label of ['licenses=Apache-2.0', 'version=$VERSION', 'revision=$COMMIT', 'source=$SOURCE'])
      for (const stage of stages) expect(stage).toContain(`org.opencontainers.image.${label}`);
  });

  it('pins its base image, with the Node.js that everything runs on, and compose pins Postgres and Redis, by digest', () => {
    const node = read('.node-version').trim().replaceAll('.', String.raw`\.`);
    const bases = [...dockerfile.matchAll(/^FROM (\S+) AS (\S+)$/gm)].map((match) => match.slice(1, 3));
    const stages = new Set(bases.map(([, name]) => name));
    const external = bases.flatMap(([base]) => (stages.has(base) ? [] : [base]));
    const pulled = [...read('docker-compose.yml').matchAll(/^ +image: (\S+)$/gm)].map((match) => match[1]);

    expect(external).toEqual([
      expect.stringMatching(new RegExp(`^node:${node}-bookworm-slim@sha256:[0-9a-f]{64}$`)),
      expect.stringMatching(/^gcr\.io\/distroless\/cc-debian12:nonroot@sha256:[0-9a-f]{64}$/),
    ]);
    const [withState, ofProfiles] = [pulled.slice(0, 2), pulled.slice(2)];
    expect(withState).toHaveLength(2);
    for (const image of withState) expect(image).toMatch(/^[a-z]+:[\w.-]+@sha256:[0-9a-f]{64}$/);
    for (const image of ofProfiles) expect(image).toMatch(/^[a-z/]+:v?\d+\.\d+\.\d+(-alpine)?$/);
  });

  it('copies the manifest of every package before it installs', () => {
    const listed = spawnSync('git', ['ls-files', '*package.json'], { cwd: repository, encoding: 'utf8' }).stdout;
    const manifests = listed
      .split('\n')
      .filter((path) => path !== '' && !/^(tests\/clients|tools\/docs-site)\//.test(path));

    const missing = manifests.filter((path) => path !== 'package.json' && !dockerfile.includes(`COPY ${path} `));

    expect(missing).toEqual([]);
  });
});

const hasSystemd = spawnSync('systemd-analyze', ['--version'], { stdio: 'ignore' }).status === 0;

describe('the unit for systemd', () => {
  (hasSystemd ? it : it.skip)('is accepted by systemd-analyze', () => {
    const unit = join(repository, 'infra/systemd/corral@.service');
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' });

    // It complains about a machine without Node.js at the usual place, or without the account.
    const complaints = stderr
      .split('\n')
      .filter((line) => line.includes('corral@') && !line.includes('is not executable'));
    expect({ status: complaints.length === 0 ? 0 : status, complaints }).toEqual({ status: 0, complaints: [] });
  });
});

describe('docker-compose.yml', () => {
  const compose = parse(read('docker-compose.yml'), { merge: true });

  it('runs Postgres, Redis, both APIs and the reconciler, and migrates before they start', () => {
    expect(Object.keys(compose.services)).toEqual(
      expect.arrayContaining(['postgres', 'redis', 'migrate', 'dns-gateway', 'cluster-api', 'reconciler']),
    );
    for (const service of ['dns-gateway', 'cluster-api', 'reconciler']) {
      expect(compose.services[service].depends_on.migrate.condition).toBe('service_completed_successfully');
    }
  });

  it('opens ports on this machine only, except those of the proxy with TLS', () => {
    const ports = Object.entries<{ ports?: string[] }>(compose.services).flatMap(([name, service]) =>
      (service.ports ?? []).map((port) => [name, port] as const),
    );

    expect(ports.length).toBeGreaterThan(3);
    const open = ports.filter(([, port]) => !/^\$\{BIND_ADDRESS:-127\.0\.0\.1\}:/.test(port));
    expect(open.map(([name]) => name)).toEqual(['proxy', 'proxy']);
  });

  it('rotates the logs of every service and limits its memory', () => {
    for (const service of Object.values<{ logging?: { options: object }; mem_limit?: string }>(compose.services)) {
      expect(service.logging?.options).toEqual({ 'max-size': '20m', 'max-file': '5' });
      expect(service.mem_limit).toMatch(/\dg|\d+m|POSTGRES_MEMORY/);
    }
  });

  it('starts no Grafana without a password', () => {
    const [shell, ...args] = compose.services.grafana.entrypoint;
    const started = spawnSync(
      shell,
      args.map((text: string) => text.replaceAll('$$', '$')),
      { env: {}, encoding: 'utf8' },
    );

    expect(started).toMatchObject({ status: 1, stderr: 'Set GRAFANA_PASSWORD in .env.\n' });
  });

  it('mounts files that exist', () => {
    const mounted = Object.values<{ volumes?: string[] }>(compose.services).flatMap(({ volumes = [] }) =>
      volumes.filter((volume) => volume.startsWith('./')).map((volume) => volume.split(':')[0] ?? ''),
    );

    expect(mounted.length).toBeGreaterThan(5);
    expect(mounted.filter((path) => !existsSync(join(repository, path)))).toEqual([]);
  });

  it('takes backups that survive their container, in a folder that the image gives to its user', () => {
    const { command, read_only, volumes } = compose.services.backup;

    expect(command.slice(0, 2)).toEqual(['backup', '/backups']);
    expect({ read_only, volumes }).toEqual({ read_only: true, volumes: ['backups:/backups'] });
    expect(compose.services.admin.volumes).toEqual(volumes);
    expect(Object.keys(compose.volumes)).toContain('backups');
    expect(dockerfile).toContain('COPY --from=build --chown=1000:1000 /out/backups /backups');
  });

  it('builds targets that the Dockerfile has', () => {
    const targets = Object.values<{ build?: { target: string } }>(compose.services).flatMap(({ build }) =>
      build === undefined ? [] : [build.target],
    );

    expect(targets.filter((target) => !dockerfile.includes(` AS ${target}\n`))).toEqual([]);
  });

  it('gives each service its own role in Postgres and only the secrets that it needs', () => {
    const secretsOf = (service: string) =>
      Object.keys(compose.services[service].environment).filter((name) => /TOKEN|KEYS|SECRET|KUBECONFIG/.test(name));

    expect(secretsOf('dns-gateway')).toEqual(['HCLOUD_TOKEN']);
    expect(secretsOf('cluster-api').sort()).toEqual(
      ['BILLING_WEBHOOK_SECRETS', 'GARDEN_KUBECONFIG', 'OIDC_CLIENT_SECRET', 'SECRET_KEYS'].sort(),
    );
    expect(secretsOf('reconciler').sort()).toEqual(['GARDEN_KUBECONFIG', 'HCLOUD_TOKEN', 'SECRET_KEYS']);
    for (const service of databaseServices) {
      const { username, password } = new URL(compose.services[service].environment.DATABASE_URL);
      expect([username, password]).toEqual([roleOf(service), '']);
    }
  });

  it('passes every documented variable: further ones of a service by a file of its own', () => {
    for (const service of ['dns-gateway', 'cluster-api', 'reconciler']) {
      expect(compose.services[service].env_file).toEqual([{ path: `${service}.env`, required: false }]);
    }
    expect(read('.dockerignore').split('\n')).toEqual(expect.arrayContaining(['.env', '*.env']));
    expect(read('.gitignore').split('\n')).toEqual(expect.arrayContaining(['.env', '/*.env']));
  });

  it('gives limits per team to every service that applies or shows them', () => {
    const environmentOf = (service: string) => compose.services[service].environment;

    for (const service of ['dns-gateway', 'cluster-api', 'reconciler', 'admin']) {
      expect(environmentOf(service).DNS_RECORDS_PER_TEAM).toMatch(/^\$\{DNS_RECORDS_PER_TEAM:-\}$/);
    }
    expect(environmentOf('cluster-api').DNS_LIMIT_PER_TEAM).toBe(environmentOf('dns-gateway').LIMIT_PER_TEAM);
  });

  it('puts no secret into the arguments of a process, which the whole host can read', () => {
    const commands = Object.values<{ command?: unknown; healthcheck?: unknown }>(compose.services).map(
      ({ command, healthcheck }) => JSON.stringify([command, healthcheck]),
    );

    expect(commands.filter((text) => /\$\{\w*(?:PASSWORD|TOKEN|SECRET|KEYS)/.test(text))).toEqual([]);
  });

  it('asks for exactly the variables of .env.example', () => {
    const asked = new Set([...read('docker-compose.yml').matchAll(/\$\{(\w+)/g)].map((match) => match[1]));
    const offered = new Set([...read('.env.example').matchAll(/^(?:# )?([A-Z_]+)=/gm)].map((match) => match[1]));

    expect([...asked].sort()).toEqual([...offered].sort());
  });
});
