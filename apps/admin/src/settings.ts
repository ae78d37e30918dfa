import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dnsLimits } from '@corral/contracts';
import { withPasswords } from '@corral/service';
import { OperatorError } from './operator-error.js';

/** Selects the installation of a command. */
export interface Settings {
  readonly databaseUrl: string;
  readonly redisUrl: string | undefined;
  readonly zoneName: string | undefined;
  readonly demoZoneName: string | undefined;
  /** The quota configured for the gateways. */
  readonly recordsPerTeam: number;
}

/** The file in which `npm start` describes its installation. */
const DEVELOPMENT_FILE = join('.corral', 'admin.json');

/**
 * Reads the environment, or if it names no database, the installation that `npm start` runs in this folder. The two are
 * never mixed, since that would address a third installation.
 *
 * @throws OperatorError when neither names a database
 */
export function readSettings(env: NodeJS.ProcessEnv, folder: string): Settings {
  const source = env.DATABASE_URL?.trim() ? withPasswords(env) : readDevelopmentFile(folder);
  const value = (name: string): string | undefined => source[name]?.trim() || undefined;
  const databaseUrl = value('DATABASE_URL');
  if (databaseUrl === undefined) {
    throw new OperatorError(
      'No database is configured. Set DATABASE_URL, or start a development installation with `npm start`.',
    );
  }
  if (!/^postgres(ql)?:\/\//.test(databaseUrl)) {
    throw new OperatorError('DATABASE_URL must start with postgresql://.');
  }
  const quota = value('DNS_RECORDS_PER_TEAM') ?? String(dnsLimits.recordsPerTeam);
  if (!/^[1-9]\d{0,8}$/.test(quota))
    throw new OperatorError('DNS_RECORDS_PER_TEAM must be a whole number of at least 1.');
  return {
    databaseUrl,
    redisUrl: value('REDIS_URL'),
    zoneName: value('DNS_ZONE_NAME'),
    demoZoneName: value('DEMO_ZONE_NAME'),
    recordsPerTeam: Number(quota),
  };
}

function readDevelopmentFile(folder: string): Record<string, string | undefined> {
  let text: string;
  try {
    text = readFileSync(join(folder, DEVELOPMENT_FILE), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new OperatorError(`${DEVELOPMENT_FILE} cannot be read. Set DATABASE_URL instead.`, { cause: error });
  }
  try {
    const values = JSON.parse(text) as Record<string, unknown>;
    return Object.fromEntries(
      Object.entries(values).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    );
  } catch (cause) {
    throw new OperatorError(`${DEVELOPMENT_FILE} is damaged. Run \`npm start\` again, or set DATABASE_URL.`, { cause });
  }
}
