import { mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createEmptyDatabase,
  createTestDatabase,
  describeNeeding,
  freePort,
  startProcess,
  type TestDatabase,
} from '@corral/testing';
import { findGoProgram, missingGoProgram } from '@corral/testing/go-programs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Container, environmentOf, podOf, type Rendered, renderChart } from '../support/kubernetes/chart.js';
import { builtFile } from '../support/system/program.js';
import { type Ends, ownFolder, undo } from '../support/system/system-parts.js';

/* The CronJob of the chart with a bucket: its containers one after the other, with rclone as client and as server. */

const [helm, rclone] = [findGoProgram('helm'), findGoProgram('rclone')];
const missing = [helm, rclone].indexOf(null);
const S3 = { accessKeyId: 'corral', secretAccessKey: 'a/secret+of=S3' };
const OLD_DAYS = 31;

describeNeeding(
  describe,
  missing === -1 ? null : missingGoProgram(missing === 0 ? 'helm' : 'rclone'),
  'the backup of the chart to a bucket',
  () => {
    const ends: Ends = [];
    let database: TestDatabase;
    let bucket: string;
    let containers: Container[];
    let objects: Rendered[];
    let volume: string;

    beforeAll(async () => {
      const folder = await ownFolder(ends);
      [bucket, volume] = [join(folder, 'served/backups'), join(folder, 'volume')];
      for (const made of [join(bucket, 'corral'), volume]) await mkdir(made, { recursive: true });
      database = await createTestDatabase();
      ends.push(() => database.drop());
      const endpoint = `http://127.0.0.1:${await freePort()}`;
      const server = await startProcess({
        command: rclone as string,
        args: [
          ...['serve', 's3', '--addr', new URL(endpoint).host],
          ...['--auth-key', Object.values(S3).join(','), join(folder, 'served')],
        ],
        env: { RCLONE_CONFIG: join(folder, 'none.conf') },
        readyUrl: endpoint,
      });
      ends.push(() => server.stop());
      objects = [...rendered(endpoint), secretOf('bucket', S3)];
      const pod = podOf(objects.find(({ kind }) => kind === 'CronJob') as Rendered);
      containers = [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])];
    }, 900_000);
    afterAll(() => undo(ends));

    function rendered(endpoint: string): Rendered[] {
      const { hostname, port, username, password, pathname } = new URL(database.url);
      const settings = {
        'database.host': hostname,
        'database.name': pathname.slice(1),
        'database.parameters': '',
        'database.owner.user': username,
        'database.owner.password.value': decodeURIComponent(password),
        'backup.bucket.path': 'backups/corral',
        'backup.bucket.endpoint': endpoint,
        'backup.bucket.existingSecret': 'bucket',
      };
      const strings = Object.entries(settings).flatMap(([name, value]) => ['--set-string', `${name}=${value}`]);
      const others = ['--set', `backup.enabled=true,database.port=${port}`];
      return renderChart(helm as string, 'ci/dns-values.yaml', ...strings, ...others);
    }

    const secretOf = (name: string, values: Readonly<Record<string, string>>): Rendered => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name },
      spec: undefined,
      data: Object.fromEntries(
        Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
      ),
    });

    const admin = [process.execPath, builtFile('apps/admin/dist/main.js')];
    async function run([command = '', ...args]: readonly string[], env: Record<string, string>): Promise<string> {
      const running = await startProcess({ command, args, env });
      const { code } = await running.exited;
      if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${running.output()}`);
      return running.output();
    }

    /** Runs a container as a node does, with the volume in place of its mount. */
    const runContainer = (container: Container, args = container.args ?? []) =>
      run(
        [
          ...(/rclone/.test(container.image) ? [rclone as string] : admin),
          ...args.map((arg) => arg.replace(/^\/backups$/, volume)),
        ],
        environmentOf(container, objects),
      );

    it('arrives before it counts, restores from there, and removes old backups but nothing else', async () => {
      const owner = { DATABASE_URL: database.url, MIGRATIONS_DIR: builtFile('prisma/migrations') };
      await run([...admin, 'team', 'create', 'acme'], owner);
      const past = new Date(Date.now() - OLD_DAYS * 86_400_000);
      for (const name of ['corral-20200101T000000Z.backup', 'of-somebody-else.txt']) {
        await writeFile(join(bucket, 'corral', name), 'old');
        await utimes(join(bucket, 'corral', name), past, past);
      }

      for (const container of containers) await runContainer(container);

      const [taken] = await readdir(volume);
      expect(await readdir(join(bucket, 'corral'))).toEqual([taken, 'of-somebody-else.txt']);
      const acts = JSON.parse(await run([...admin, '--json', 'operators'], owner)).acts;
      expect(acts[0]).toMatchObject({ operator: 'backup', targetName: 'backups/corral' });

      await rm(join(volume, taken as string));
      const upload = containers.find(({ name }) => name === 'upload') as Container;
      await runContainer(upload, ['copy', `:s3:backups/corral/${taken}`, '/backups']);
      const restored = await createEmptyDatabase();
      ends.push(() => restored.drop());
      const other = { ...owner, DATABASE_URL: restored.url };
      await run([...admin, 'restore', join(volume, taken as string)], other);
      expect(await run([...admin, 'team', 'list'], other)).toMatch(/^acme /m);
    }, 120_000);
  },
);
