import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject } from '@corral/contracts';
import envPaths from 'env-paths';
import { parse, stringify } from 'yaml';
import { usageError } from '../exit-codes.js';
import { saveFile } from './save-file.js';

/** An installation with a team, and who one is there. */
export interface StoredContext {
  /** Address of the cluster API, without a slash at its end. */
  readonly url?: string;
  readonly team?: string;
  /** The session of a person who signed in. */
  readonly session?: string;
  /** The token of a service account. */
  readonly token?: string;
  /** A service account that a token of another issuer is exchanged for, and the file with that token. */
  readonly account?: string;
  readonly subjectTokenFile?: string;
  /** End of the session or the token, if it is known. */
  readonly expiresAt?: string;
  /** Address of the DNS API, with `/v1`. */
  readonly dnsUrl?: string;
  readonly dnsToken?: string;
}

export interface ConfigFile {
  readonly currentContext: string | null;
  readonly contexts: Readonly<Record<string, StoredContext>>;
}

const BYTES_MAX = 1_048_576;
const members = [
  ...(['url', 'team', 'session', 'token', 'account', 'subjectTokenFile', 'expiresAt', 'dnsUrl', 'dnsToken'] as const),
];
/** Others than their owner may read the file. */
const OTHERS = 0o077;

/** `CORRAL_CONFIG`, else `config.yaml` where the system keeps settings: below `$XDG_CONFIG_HOME` or `~/.config` on Linux. */
export const configPath = (env: NodeJS.ProcessEnv): string =>
  env.CORRAL_CONFIG || join(envPaths('corral', { suffix: '' }).config, 'config.yaml');

/**
 * @returns an empty configuration if there is no file
 * @throws CliError for a file that cannot be read
 */
export async function readConfig(path: string, warn: (text: string) => void): Promise<ConfigFile> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw usageError(`${path} cannot be read: ${error.code}.`);
  });
  if (found === null) return { currentContext: null, contexts: {} };
  if (found.size > BYTES_MAX) throw usageError(`${path} is no configuration: it is larger than 1 MiB.`);
  if (process.platform !== 'win32' && (found.mode & OTHERS) !== 0) {
    warn(`Others can read ${path}, which holds tokens. Run: chmod 600 ${path}`);
  }
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw usageError(`${path} cannot be read: ${error.code}.`);
  });
  return parseConfig(text, path);
}

/** @throws CliError that names the member that is wrong, and never its value */
export function parseConfig(text: string, path: string): ConfigFile {
  let read: unknown;
  try {
    read = parse(text, { maxAliasCount: 0 });
  } catch {
    throw usageError(`${path} is no valid YAML. Correct it, or remove it and sign in again.`);
  }
  const wrong = (what: string) => usageError(`${path}: ${what}. Correct it, or remove the file and sign in again.`);
  if (read === null || read === undefined) return { currentContext: null, contexts: {} };
  if (!isObject(read)) throw wrong('it has to be an object');
  const { currentContext = null, contexts = {} } = read;
  if (currentContext !== null && typeof currentContext !== 'string') throw wrong('currentContext has to be a name');
  if (!isObject(contexts)) throw wrong('contexts has to be an object');
  for (const [name, context] of Object.entries(contexts)) {
    if (!isObject(context)) throw wrong(`contexts.${name} has to be an object`);
    for (const member of members) {
      const value = context[member];
      if (value !== undefined && typeof value !== 'string') throw wrong(`contexts.${name}.${member} has to be a text`);
    }
  }
  return { currentContext, contexts: contexts as ConfigFile['contexts'] };
}

/** Replaces the file at once; only its owner can read it. */
export const writeConfig = (path: string, config: ConfigFile): Promise<void> => saveFile(path, stringify(config));
