import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from '@corral/database';
import { startProcess, waitFor } from '@corral/testing';
import fc from 'fast-check';
import { type CommandResult, runCommand } from '../clients/run-command.js';
import type { ClusterSystem, ClusterTeam } from '../clusters/start-cluster-system.js';
import { drawer } from '../crashes/crash-plan.js';
import { builtFile } from '../system/program.js';
import { newKey, openSecret, type ServiceKey, type ServiceKeys, secretKeysValue } from './service-keys.js';
import type { Sideline, Stage } from './sideline.js';

const PATIENCE_MS = 90_000;
/** The connections of each team, in addition to `main`, whose tokens are replaced all the time. */
const SPARE = ['spare-1', 'spare-2', 'spare-3'];
const TOKENS_PER_CONNECTION = 2;
/** A connection of each team that only rotations change. When it is locked, they stop in the middle. */
const HELD = 'held';
const ATTEMPTS_MAX = 40;
const admin = [process.execPath, builtFile('apps/admin/dist/main.js'), 'secrets', 'rotate'] as const;

export interface KeyRotationOptions {
  /** The key with which every service of the system was started. */
  readonly keys: ServiceKeys;
  readonly first: ServiceKey;
  readonly seed: number;
}

/**
 * An operator changes the keys as the runbook says, again and again: first the new key comes last, then first, then
 * `secrets rotate` runs, then the old key goes. The killers restart the services, and the command is killed, too.
 */
export function keyRotation(system: ClusterSystem, { keys, first, seed }: KeyRotationOptions): Sideline {
  /** The keys in use, newest first. */
  let ring: readonly ServiceKey[] = [first];
  const tokens = new Map(system.teams.map(({ id, providerToken }) => [`${id}/main`, providerToken]));

  const rotateKeys = async (stage: Stage): Promise<void> => {
    const nextKills = drawer(fc.integer({ min: 1, max: 2 }), seed);
    const areGiven = async (...given: ServiceKey[]): Promise<boolean> => {
      keys.give(...given);
      while (!stage.isOver() && !keys.areEverywhere()) await pause(100);
      return keys.areEverywhere();
    };
    for (let number = 2; !stage.isOver(); number += 1) {
      const [old, key] = [ring[0] as ServiceKey, newKey(number)];
      if (!(await areGiven(old, key))) return;
      ring = [key, old];
      if (!(await areGiven(key, old))) return;
      await rotateSecrets(system, { ring, kills: nextKills(), stage });
    }
  };

  return {
    needed: ['rotateKeys', 'killRotation', 'replaceToken'],
    async run(stage) {
      await Promise.all([
        rotateKeys(stage),
        ...system.teams.map((team, index) => replaceTokens(team, { system, seed: seed + 1 + index, stage, tokens })),
      ]);
    },
    async findContradictions() {
      const { code, stderr } = await askAdmin(system, ring);
      const checked = await askAdmin(system, ring, '--check');
      return [
        ...(code === 0 ? [] : [`the last rotation ended with ${code}: ${stderr}`]),
        ...(checked.code === 0 ? [] : [`after the last rotation: ${checked.stderr}`]),
        ...(await findLostTokens(system, { key: ring[0] as ServiceKey, tokens })),
        ...(await findBrokenConnections(system)),
      ];
    },
  };
}

interface Rotating {
  readonly ring: readonly ServiceKey[];
  /** How often it is killed before it may finish. */
  readonly kills: number;
  readonly stage: Stage;
}

/** Runs the command until it ends by itself. Then nothing is left to do, as every service has the new key. */
async function rotateSecrets(system: ClusterSystem, { ring, kills, stage }: Rotating): Promise<void> {
  let killed = 0;
  for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts += 1) {
    // Postgres is restarted at any moment, and an attempt without it fails immediately.
    await waitFor('Postgres to answer', () => system.pool.query('SELECT'), { timeoutMs: PATIENCE_MS });
    const end = await rotateOnce(system, ring, killed < kills).catch(() => 'failed' as const);
    if (end === 'killed') {
      killed += 1;
      stage.count('killRotation');
    }
    if (end !== 'done') continue;
    const checked = await askAdmin(system, ring, '--check');
    if (checked.stderr.startsWith('Not under the newest key')) stage.report(`after a rotation: ${checked.stderr}`);
    if (checked.code === 0) return stage.count('rotateKeys');
  }
  stage.report(`the keys were not rotated in ${ATTEMPTS_MAX} attempts`);
}

/** @param isKilled kills it in the middle, unless there is nothing left to rotate */
async function rotateOnce(
  { databaseUrl, pool }: ClusterSystem,
  ring: readonly ServiceKey[],
  isKilled: boolean,
): Promise<'done' | 'killed' | 'failed'> {
  const holder = isKilled ? await holdSecret(pool) : null;
  try {
    const [command, ...args] = [...admin, '--batch-size', '1'];
    const running = await startProcess({ command, args, env: environmentOf(databaseUrl, ring) });
    if (holder !== null) {
      await Promise.race([running.exited, holder.untilAwaited()]);
      running.kill('SIGKILL');
    }
    const { code, signal } = await running.exited;
    if (signal === 'SIGKILL') return 'killed';
    return code === 0 ? 'done' : 'failed';
  } finally {
    await holder?.release();
  }
}

/** Every writer of the row waits until it is released, or until Postgres is restarted. */
async function holdSecret(pool: Pool) {
  const client = await pool.connect();
  client.on('error', () => undefined);
  const release = async (): Promise<void> => {
    await client.query('ROLLBACK').catch(() => undefined);
    client.release(true);
  };
  try {
    await client.query('BEGIN');
    const { rows } = await client.query<{ pid: number }>(
      'SELECT pg_backend_pid() AS pid FROM connection WHERE ref = $1 ORDER BY random() LIMIT 1 FOR UPDATE',
      [HELD],
    );
    const untilAwaited = () =>
      waitFor('a rotation to stop', async () => {
        const { rowCount } = await pool.query('SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))', [
          rows[0]?.pid,
        ]);
        return rowCount !== 0;
      }).catch(() => undefined);
    return { untilAwaited, release };
  } catch (error) {
    await release(); // Postgres was restarted
    throw error;
  }
}

const environmentOf = (databaseUrl: string, ring: readonly ServiceKey[]) => ({
  DATABASE_URL: databaseUrl,
  SECRET_KEYS: secretKeysValue(ring),
});

const askAdmin = (
  { databaseUrl }: ClusterSystem,
  ring: readonly ServiceKey[],
  ...options: string[]
): Promise<CommandResult> => runCommand([...admin, ...options], { env: environmentOf(databaseUrl, ring) });

interface Replacing {
  readonly system: ClusterSystem;
  readonly seed: number;
  readonly stage: Stage;
  /** The last accepted token of each connection, by team and ref. */
  readonly tokens: Map<string, string>;
}

/** The services seal tokens all the time, and no rotation may restore an older token. */
async function replaceTokens(team: ClusterTeam, { system, seed, stage, tokens }: Replacing): Promise<void> {
  const own = Array.from({ length: TOKENS_PER_CONNECTION }, () => randomBytes(32).toString('hex'));
  for (const token of own) await system.cloud.admin('POST', '/project-tokens', { token });
  const next = drawer(
    fc.record({
      ref: fc.constantFrom(...SPARE),
      token: fc.constantFrom(...own),
      thinkMs: fc.integer({ min: 100, max: 2_000 }),
    }),
    seed,
  );
  const put = async (ref: string, token: string): Promise<void> => {
    const call = {
      method: 'PUT',
      path: `/connections/${ref}/`,
      body: { spec: { provider: 'hcloud', token } },
    } as const;
    try {
      const { status, text } = await team.admin.insist(call, { timeoutMs: PATIENCE_MS });
      if (status === 200 || status === 201) tokens.set(`${team.id}/${ref}`, token);
      else stage.report(`the token of ${ref} was answered ${status} ${text}`);
    } catch (error) {
      stage.report(String(error));
    }
  };
  await put(HELD, next().token);
  while (!stage.isOver()) {
    const { ref, token, thinkMs } = next();
    await put(ref, token);
    stage.count('replaceToken');
    await pause(thinkMs);
  }
}

interface ConnectionRow {
  readonly id: string;
  readonly place: string;
  readonly sealed_token: Buffer;
  readonly token_key_id: string;
}

async function findLostTokens(
  { pool }: ClusterSystem,
  { key, tokens }: { readonly key: ServiceKey; readonly tokens: ReadonlyMap<string, string> },
): Promise<string[]> {
  const { rows } = await pool.query<ConnectionRow>(
    `SELECT id, team_id || '/' || ref AS place, sealed_token, token_key_id FROM connection`,
  );
  const missing = [...tokens.keys()].filter((place) => rows.every((row) => row.place !== place));
  return [
    ...missing.map((place) => `connection ${place} is lost`),
    ...rows.flatMap(({ id, place, sealed_token: sealed, token_key_id: keyId }) => {
      if (keyId !== key.id) return [`connection ${place} is under ${keyId}, not ${key.id}`];
      try {
        const isKept = openSecret(sealed, { key, owner: id }) === tokens.get(place);
        return isKept ? [] : [`connection ${place} has another token than the last one that was accepted`];
      } catch (error) {
        return [`the token of connection ${place} does not open: ${error}`];
      }
    }),
  ];
}

/** Acts as if a day had passed: a service opens each token and shows it to the provider. */
async function findBrokenConnections({ pool }: ClusterSystem): Promise<string[]> {
  const { rows: asked } = await pool.query<{ now: Date }>(
    'WITH due AS (UPDATE connection SET verify_at = now()) SELECT now() AS now',
  );
  return waitFor(
    'every connection to be verified',
    async () => {
      const { rows } = await pool.query(
        `SELECT ref, phase, message FROM connection WHERE phase <> 'Ready' OR verified_at IS NULL OR verified_at < $1`,
        [asked[0]?.now],
      );
      if (rows.length > 0) throw new Error(JSON.stringify(rows));
      return ['nothing'];
    },
    { timeoutMs: PATIENCE_MS },
  ).then(
    () => [],
    (error: unknown) => [String(error)],
  );
}
