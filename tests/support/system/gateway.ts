import type { Program } from './program.js';
import { api, type Env, UNLIMITED } from './system-parts.js';

export interface Gateway extends Program {
  /** The address without a path. */
  readonly base: string;
  /** The address, which ends in `/v1`. */
  readonly url: string;
}

/** Intervals that are short enough for a test, with the same ratios as in production. */
const shortTimes = {
  UPSTREAM_TIMEOUT_MS: '1s',
  UPSTREAM_WAIT_MS: '1500ms',
  WRITE_WAIT_MS: '2500ms',
  SETTLE_AFTER_MS: '700ms',
  SETTLE_WITHIN_MS: '1s',
  ACTION_POLL_MS: '100ms',
} as const;

export async function gateway(index: number, env: Env, nodeArgs: readonly string[] = []): Promise<Gateway> {
  const limits = { LIMIT_PER_ADDRESS: UNLIMITED, LIMIT_PER_TOKEN: UNLIMITED, LIMIT_PER_TEAM: UNLIMITED };
  const made = await api({
    name: `dns-gateway ${index}`,
    file: 'apps/dns-gateway/dist/main.js',
    env: { ...shortTimes, ...limits, ...env },
    nodeArgs,
  });
  return Object.assign(made, { url: `${made.base}/v1` });
}
