import { areCertificates } from '../credentials/certificates.js';
import type { JoinData } from './client.js';

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const hostName = `${label}(?:\\.${label})*`;
const server = new RegExp(`^https://(?:${hostName}|\\[[0-9a-f:.]{2,45}\\])(?::\\d{1,5})?/?$`);
const subdomain = new RegExp(`^${hostName}$`);
/** github.com/distribution/reference: a host, a path, and a tag or a digest. */
const image = new RegExp(
  `^${hostName}(?::\\d{1,5})?(?:/[a-z0-9]+(?:(?:\\.|__?|-+)[a-z0-9]+)*)+(?::\\w[\\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$`,
);
const certificatesLengthMax = 10_000;

/**
 * Validates each part of join data. All parts end up in a script that runs as root, and administrators of the Shoot
 * control some of them.
 */
const rules: { readonly [Part in keyof JoinData]: (value: string) => boolean } = {
  server: (value) => value.length <= 300 && server.test(value),
  certificateAuthority: (value) => areCertificates(value, certificatesLengthMax),
  bootstrapToken: (value) => /^[a-z0-9]{6}\.[a-z0-9]{16}$/.test(value),
  configSecretName: (value) => value.length <= 253 && subdomain.test(value),
  kubernetesVersion: (value) => /^\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(value),
  nodeAgentImage: (value) => value.length <= 400 && image.test(value),
};

/** @returns the name of an invalid part, or null */
export function flawOf(join: Partial<JoinData>): keyof JoinData | null {
  const parts = Object.keys(rules) as (keyof JoinData)[];
  return parts.find((part) => join[part] !== undefined && !rules[part](join[part])) ?? null;
}

/** Whether a machine, and so its node, can have this name. Linux allows at most 64 characters, and labels 63. */
export function isHostName(name: string): boolean {
  return name.length <= 63 && subdomain.test(name);
}
