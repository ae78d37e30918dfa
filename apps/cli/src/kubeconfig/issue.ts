import { parse } from 'yaml';
import type { TeamApi } from '../clusters/team-api.js';

export interface KubeconfigOptions {
  readonly scope: 'admin' | 'viewer';
  /** Lifetime in seconds. */
  readonly ttl: number;
}

export interface Named {
  readonly name: string;
  readonly [part: string]: unknown;
}

export interface Kubeconfig {
  readonly apiVersion: string;
  readonly kind: string;
  readonly clusters: readonly Named[];
  readonly users: readonly Named[];
  readonly contexts: readonly Named[];
  readonly 'current-context': string;
}

export interface IssuedKubeconfig {
  readonly kubeconfig: Kubeconfig;
  readonly expiresAt: string;
}

/** @throws CorralError */
export async function issueKubeconfig(
  { client, team, signal }: TeamApi,
  name: string,
  { scope, ttl }: KubeconfigOptions,
): Promise<IssuedKubeconfig> {
  const { body } = await client.issueKubeconfig({ team, name }, { body: { ttlSeconds: ttl, scope }, signal });
  return { kubeconfig: parse(body.kubeconfig) as Kubeconfig, expiresAt: body.expiresAt };
}
