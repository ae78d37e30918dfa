import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { connectPool } from '@corral/database';
import { freePort, startProcess } from '@corral/testing';
import type { Load } from '../load/load.js';
import type { Rig } from '../rig.js';

const PROGRAM = 'pdns_server';
const SCHEMA_FILE = '/usr/share/pdns-backend-pgsql/schema/schema.pgsql.sql';
const KEY = 'key-of-the-benchmark';
const DATABASE = 'powerdns';

/** Reads of the same record sets through the HTTP API of PowerDNS. */
export interface PowerDns {
  readonly version: string;
  readonly list: Load;
  readonly get: Load;
}

/**
 * Starts PowerDNS with its Postgres backend on the Postgres of the rig, with default settings except for addresses. Its
 * zone only holds the record sets of the team: its API lists whole zones, so more sets would slow it down.
 *
 * @param names the names, below the zone, of record sets with one address each
 * @returns null if it is not installed (Debian: `pdns-server` and `pdns-backend-pgsql`)
 */
export async function startPowerDns(rig: Rig, zone: string, names: readonly string[]): Promise<PowerDns | null> {
  const asked = spawnSync(PROGRAM, ['--version'], { encoding: 'utf8' });
  const schema = readIfThere(SCHEMA_FILE);
  if (asked.error !== undefined || schema === null) return null;
  await makeDatabase(rig, schema, zone, names);
  const port = await freePort();
  await run(rig, port);
  const load = (query: string): Load => ({
    url: `http://127.0.0.1:${port}/api/v1/servers/localhost`,
    headers: { 'x-api-key': KEY },
    path: `/zones/${zone}.${query}`,
  });
  const [first] = names;
  const version = /Authoritative Server ([\d.]+)/.exec(`${asked.stdout}${asked.stderr}`)?.[1] ?? 'unknown';
  return { version, list: load(''), get: load(`?rrset_name=${first}.${zone}.&rrset_type=A`) };
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

async function makeDatabase(rig: Rig, schema: string, zone: string, names: readonly string[]): Promise<void> {
  await rig.pool.query(`CREATE DATABASE ${DATABASE}`);
  const pool = connectPool({
    databaseUrl: urlOf(rig).href,
    applicationName: 'bench',
    onIdleError: () => undefined,
    statementTimeoutMs: 60_000,
  });
  try {
    await pool.query(schema);
    await pool.query(`INSERT INTO domains (name, type) VALUES ($1, 'NATIVE')`, [zone]);
    await pool.query(
      `INSERT INTO records (domain_id, name, type, content, ttl, auth)
       SELECT id, $1, 'SOA', $2, 3600, true FROM domains
       UNION ALL SELECT id, owner || '.' || $1, 'A', '192.0.2.1', 300, true FROM domains, unnest($3::text[]) AS owner`,
      [zone, `ns1.${zone} hostmaster.${zone} 1 10800 3600 604800 3600`, names],
    );
    await pool.query('VACUUM ANALYZE');
  } finally {
    await pool.end();
  }
}

function urlOf(rig: Rig): URL {
  const url = new URL(rig.databaseUrl);
  url.pathname = `/${DATABASE}`;
  return url;
}

async function run(rig: Rig, port: number): Promise<void> {
  const postgres = urlOf(rig);
  const folder = join(rig.folder, 'powerdns');
  await mkdir(folder);
  const settings = {
    'config-dir': folder,
    'socket-dir': folder,
    daemon: 'no',
    guardian: 'no',
    launch: 'gpgsql',
    'gpgsql-host': postgres.hostname,
    'gpgsql-port': postgres.port,
    'gpgsql-user': decodeURIComponent(postgres.username),
    'gpgsql-password': decodeURIComponent(postgres.password),
    'gpgsql-dbname': DATABASE,
    'local-address': '127.0.0.1',
    'local-port': String(await freePort()),
    api: 'yes',
    'api-key': KEY,
    webserver: 'yes',
    'webserver-address': '127.0.0.1',
    'webserver-port': String(port),
    'webserver-loglevel': 'none',
  };
  const server = await startProcess({
    command: PROGRAM,
    args: Object.entries(settings).map(([name, value]) => `--${name}=${value}`),
    readyUrl: `http://127.0.0.1:${port}/`,
  });
  rig.onStop(() => server.stop());
}
