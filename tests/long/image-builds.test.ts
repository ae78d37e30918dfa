import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Rehearsal, rehearseBuild } from '../support/system/image-build.js';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const dockerfile = readFileSync(join(repository, 'infra/Dockerfile'), 'utf8');
const images = ['dns-gateway', 'cluster-api', 'reconciler', 'admin', 'cli'];

describe('the images, built with the commands of the Dockerfile in an empty folder', () => {
  let built: Rehearsal;
  beforeAll(async () => {
    built = await rehearseBuild(repository, dockerfile, ['build', ...images]);
  }, 300_000);
  afterAll(() => rmSync(built.root, { recursive: true, force: true }));

  const run = (image: string, file: string, args: string[] = []) =>
    spawnSync(process.execPath, [built.inStage(image, `app/${file}`), ...args], {
      cwd: built.inStage(image, 'app'),
      env: { PATH: process.env.PATH },
      encoding: 'utf8',
    });

  it.each(['dns-gateway', 'cluster-api', 'reconciler'])(
    'start the %s, which says which settings are missing',
    (image) => {
      const { status, stderr } = run(image, 'dist/main.js');

      expect(stderr).toContain('DATABASE_URL is missing');
      expect(status).toBe(78);
    },
  );

  it('contain the command of teams', () => {
    const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string };

    expect(run('cli', 'dist/main.js', ['--version']).stdout).toBe(`${version}\n`);
  });

  it('contain the operator command with the migrations', () => {
    const { status, stdout, stderr } = run('admin', 'dist/main.js', ['--help']);

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('migrate');
    expect(readFileSync(built.inStage('admin', 'app/prisma/migrations/migration_lock.toml'), 'utf8')).toContain(
      'postgresql',
    );
  });
});
