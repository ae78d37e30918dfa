import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { connectPool } from '@corral/database';
import { freePort, startProcess } from '@corral/testing';
import { mustExchange } from '../rig/exchange.js';
import type { Rig } from '../rig/rig.js';

/** Two reads of a server: of a page of 25 record sets, and of one set. */
export interface Reads {
  readonly headers: Readonly<Record<string, string>>;
  /** URLs. */
  readonly list: string;
  readonly get: string;
}

const PROGRAM = 'pdns_server';
const SCHEMA = '/usr/share/pdns-backend-pgsql/schema/schema.pgsql.sql';
const KEY = 'key-of-the-benchmark';
const DATABASE = 'powerdns';

/**
 * Starts PowerDNS on the same Postgres, with default settings except for addresses. Its zone only has the sets of a page: its API
 * lists whole zones.
 *
 * @param names the names, below the zone, of record sets with one address each
 * @returns its HTTP API, or null if it is not installed (Debian: `pdns-server` and `pdns-backend-pgsql`)
 */
export async function startPowerDns(rig: Rig, zone: string, names: readonly string[]): Promise<Reads | null> {
  const isInstalled = spawnSync(PROGRAM, ['--version']).error === undefined;
  if (!isInstalled || !existsSync(SCHEMA)) return null;
  const folder = join(rig.folder, 'powerdns');
  mkdirSync(folder);
  const database = await makeDatabase(rig);
  const port = await freePort();
  const settings = {
    'config-dir': folder,
    'socket-dir': folder,
    daemon: 'no',
    guardian: 'no',
    launch: 'gpgsql',
    'gpgsql-host': database.hostname,
    'gpgsql-port': database.port,
    'gpgsql-user': decodeURIComponent(database.username),
    'gpgsql-password': decodeURIComponent(database.password),
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
  const headers = { 'x-api-key': KEY };
  const zones = `http://127.0.0.1:${port}/api/v1/servers/localhost/zones`;
  const rrsets = names.map((name) => ({
    name: `${name}.${zone}.`,
    type: 'A',
    ttl: 300,
    records: [{ content: '192.0.2.1', disabled: false }],
  }));
  const body = { name: `${zone}.`, kind: 'Native', nameservers: [`ns1.${zone}.`], rrsets };
  const agent = new Agent();
  await mustExchange({ url: zones, method: 'POST', headers, body }, agent);
  agent.destroy();
  const url = `${zones}/${zone}.`;
  return { headers, list: url, get: `${url}?rrset_name=${names[0]}.${zone}.&rrset_type=A` };
}

/** @returns its address. It goes when PowerDNS has ended. */
async function makeDatabase({ databaseUrl, pool, onStop }: Rig): Promise<URL> {
  const drop = () => pool.query(`DROP DATABASE IF EXISTS ${DATABASE} WITH (FORCE)`);
  await drop();
  await pool.query(`CREATE DATABASE ${DATABASE}`);
  onStop(drop);
  const url = new URL(databaseUrl);
  url.pathname = `/${DATABASE}`;
  const own = connectPool({
    databaseUrl: url.href,
    applicationName: 'rig',
    onIdleError: () => undefined,
    statementTimeoutMs: 60_000,
  });
  await own.query(readFileSync(SCHEMA, 'utf8'));
  await own.end();
  return url;
}
