import { parse } from 'yaml';
import type { TeamApi } from '../clusters/team-api.js';
import { type Moment, momentNow } from './moment.js';

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
  readonly askedAt: Moment;
  /** Milliseconds from then on, by the clock of the service. */
  readonly lifetimeMs: number;
}

/** @throws CorralError */
export async function issueKubeconfig(
  { client, team, signal }: TeamApi,
  name: string,
  { scope, ttl }: KubeconfigOptions,
): Promise<IssuedKubeconfig> {
  const askedAt = momentNow();
  const { body, servedAt } = await client.issueKubeconfig({ team, name }, { body: { ttlSeconds: ttl, scope }, signal });
  const { kubeconfig, expiresAt } = body;
  const grantedMs = servedAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt) - servedAt.getTime();
  const lifetimeMs = Math.min(grantedMs, ttl * 1_000);
  return { kubeconfig: parse(kubeconfig) as Kubeconfig, expiresAt, askedAt, lifetimeMs };
}
