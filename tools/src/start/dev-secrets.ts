import { randomBytes } from 'node:crypto';
import { DEV_SLUGS } from './dev-file.js';
import type { StateFolder } from './state-folder.js';

/** Created at the first start and stored, so that secrets that were sealed with a key can be opened again. */
export interface DevSecrets {
  /** Keys in the format of the variable SECRET_KEYS. */
  readonly secretKeys: string;
  /** The token of the DNS project of the local cloud. */
  readonly hcloudToken: string;
  /** The tokens of the cloud projects of the teams, by slug. */
  readonly projectTokens: Readonly<Record<string, string>>;
}

const FILE = 'secrets.json';
/** The length of the tokens of the provider itself. */
const mintToken = (): string => randomBytes(32).toString('hex');

export function devSecrets(folder: StateFolder): DevSecrets {
  const kept = folder.read<Partial<DevSecrets>>(FILE) ?? {};
  const secrets = {
    secretKeys: kept.secretKeys ?? `dev:${randomBytes(32).toString('base64')}`,
    hcloudToken: kept.hcloudToken ?? mintToken(),
    projectTokens: kept.projectTokens ?? Object.fromEntries(DEV_SLUGS.map((slug) => [slug, mintToken()])),
  };
  folder.write(FILE, secrets);
  return secrets;
}
