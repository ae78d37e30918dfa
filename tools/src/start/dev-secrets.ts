import { randomBytes } from 'node:crypto';
import { DEV_SLUGS } from './dev-teams.js';
import type { StateFolder } from './state-folder.js';

/** Made at the first start and kept: what was sealed with a key shall open again. */
export interface DevSecrets {
  /** As the variable SECRET_KEYS takes them. */
  readonly secretKeys: string;
  /** Of the local cloud's DNS project. */
  readonly hcloudToken: string;
  /** Of each team's cloud project, by slug. */
  readonly projectTokens: Readonly<Record<string, string>>;
}

const FILE = 'secrets.json';
/** The length of the provider's own tokens. */
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
