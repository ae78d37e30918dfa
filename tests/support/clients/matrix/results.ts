import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../../system/program.js';
import type { ClientRow } from './rows.js';
import type { Outcome } from './stories.js';

/** What a run of a client's tests has shown. The page is made of these. */
export interface ClientResult {
  readonly client: string;
  readonly version: string;
  /** The command that shows it. */
  readonly ran: string;
  readonly parts: Readonly<Record<string, Outcome>>;
}

const folder = join(repository, 'tests', 'clients', 'results');
const fileOf = ({ name }: Pick<ClientRow, 'name'>): string => join(folder, `${name}.json`);

/** The command that tries every client. */
export const COMMAND = 'npm run test:long -- clients';

/** @returns the version that the client's folder pins @throws Error if it pins none */
export function pinnedVersion({ folder, pin }: Pick<ClientRow, 'folder' | 'pin'>): string {
  const text = readFileSync(join(repository, 'tests', 'clients', folder, pin.file), 'utf8');
  const name = pin.of.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const patterns: Readonly<Record<string, RegExp>> = {
    'go.mod': new RegExp(`(?:^|\\s)${name} v(\\S+)`, 'm'),
    'requirements.txt': new RegExp(`^${name}==([^\\s;]+)`, 'm'),
    'collections.txt': new RegExp(`^${name}==(\\S+)`, 'm'),
    'Cargo.lock': new RegExp(`name = "${name}"\\nversion = "([^"]+)"`),
    'programs.txt': new RegExp(`^${name} v(\\S+)`, 'm'),
    'package.json': new RegExp(`"${name}": "(\\d[^"]*)"`),
  };
  const version = patterns[pin.file]?.exec(text)?.[1];
  if (version === undefined) throw new Error(`tests/clients/${folder}/${pin.file} pins no version of ${pin.of}.`);
  return version;
}

/** @returns the recorded result, or null if this client was never tried */
export function recordedResult(row: Pick<ClientRow, 'name'>): ClientResult | null {
  const file = fileOf(row);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ClientResult) : null;
}

export function recordResult(result: ClientResult): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(fileOf({ name: result.client }), `${JSON.stringify(result, null, 2)}\n`);
}
