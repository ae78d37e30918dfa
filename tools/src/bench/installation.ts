import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Pool } from '@corral/database';
import { journalOf } from '@corral/local-cloud';
import { redisForTests, type TestRedis, waitFor } from '@corral/testing';
import { migrationsDir, type Rig, repository, startRig } from '../rig/rig.js';
import { type Cloud, type Service, services, startCloud, ZONE } from '../rig/services.js';
import { fill, writeUpstreamSets } from './fill.js';
import { say } from './report.js';
import { signInAll } from './sign-in.js';
import type { Size } from './sizes.js';

/** A zone of the upstream that belongs to nobody: what the upstream takes by itself is measured there. */
export const DIRECT_ZONE = 'direct.test';

export interface Installation {
  readonly size: Size;
  readonly rig: Rig;
  readonly cloud: Cloud;
  /** Null if there is none on this machine: the queue is in Postgres then. */
  readonly redis: TestRedis | null;
  readonly start: ReturnType<typeof services>;
  readonly gateways: readonly Service[];
  readonly api: Service;
  readonly reconciler: Service;
  /** A token of each team. */
  readonly tokens: readonly string[];
  readonly cookies: readonly string[];
}

const WALK_MS_MAX = 600_000;

/** Starts two gateways, a cluster API and a reconciler on stored data, which are made first if they are missing or out of date. */
export async function startInstallation(size: Size): Promise<Installation> {
  const kept = placesOf(size);
  const key = keyOf(size);
  const found = readStamp(kept.stamp);
  const isKept = found?.key === key;
  if (!isKept) for (const place of Object.values(kept)) remove(place);
  mkdirSync(join(repository, '.corral'), { recursive: true, mode: 0o700 });
  writeUpstreamSets(kept.cloud, size);
  const rig = await startRig({ dataDir: kept.postgres });
  try {
    const cloud = await startCloud(rig, kept.cloud, [ZONE, DIRECT_ZONE]);
    const redis = await redisForTests();
    rig.onStop(async () => redis?.stop());
    const start = services(rig, cloud, redis?.url);
    let tokens = found?.tokens ?? [];
    if (!isKept) {
      say('The data are made, once:');
      tokens = await fill(rig, start, size);
      writeFileSync(kept.stamp, JSON.stringify({ key, tokens }), { mode: 0o600 });
    }
    const cookies = await signInAll(rig.pool, size);
    const reconciler = await start.reconciler();
    await untilWalked(rig.pool);
    const [api, ...gateways] = await Promise.all([start.clusterApi(), start.gateway(), start.gateway()]);
    return { size, rig, cloud, redis, start, gateways, api, reconciler, tokens, cookies };
  } catch (error) {
    await rig.stop();
    throw error;
  }
}

/** `npm run reset` removes them. */
function placesOf({ name }: Size) {
  const at = (part: string) => join(repository, '.corral', `bench-${name}-${part}`);
  return { stamp: at('made.json'), postgres: at('postgres'), cloud: at('cloud') };
}

/** Differs when the schema differs, what makes the data, or the form in which the imitated upstream and garden keep theirs. */
function keyOf(size: Size): string {
  const hash = createHash('sha256').update(JSON.stringify(size)).update(journalOf([]));
  for (const migration of readdirSync(migrationsDir).sort()) {
    const file = join(migrationsDir, migration, 'migration.sql');
    if (existsSync(file)) hash.update(readFileSync(file));
  }
  for (const file of ['fill.js', 'fill-audit.js', 'sizes.js']) {
    hash.update(readFileSync(fileURLToPath(new URL(file, import.meta.url))));
  }
  return hash.digest('hex');
}

function readStamp(file: string): { key: string; tokens: string[] } | null {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null;
}

/** Removes a folder and what a link leads to: Postgres may lie outside of the checkout. */
function remove(place: string): void {
  if (existsSync(place)) rmSync(realpathSync(place), { recursive: true, force: true });
  rmSync(place, { recursive: true, force: true });
}

/** A reconciler that starts walks over the whole zone, which is not to be measured. */
async function untilWalked(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ now: Date }>('SELECT now()');
  // A walk that ended with a stopped measurement stays unfinished, and does not count.
  const isWalked = async (): Promise<boolean> => {
    const { rowCount } = await pool.query(
      `SELECT FROM dns_sync_run WHERE state = 'succeeded' AND finished_at > $1 LIMIT 1`,
      [rows[0]?.now],
    );
    return rowCount === 1;
  };
  await waitFor('the walk over the zone', isWalked, { timeoutMs: WALK_MS_MAX });
}
