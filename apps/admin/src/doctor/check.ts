import type { Pool } from '@corral/database';
import type { AdminContext } from '../admin-context.js';

/** `warning`: something will need attention. `failed`: something does not work. `unchecked`: the command lacks what it would need. */
type State = 'ok' | 'warning' | 'failed' | 'unchecked';

export interface Result {
  readonly state: State;
  /** One sentence. Unless the state is `ok`, it says what to do. */
  readonly text: string;
}

export interface CheckDeps {
  readonly context: AdminContext;
  /** Cannot change anything. */
  readonly pool: Pool;
  /** Addresses of APIs whose certificates are checked. */
  readonly urls: readonly string[];
  /** Path of the kubeconfig whose account is checked; null for none. */
  readonly kubeconfig: string | null;
}

export type Check = (deps: CheckDeps) => Promise<Result>;

export const ok = (text: string): Result => ({ state: 'ok', text });
export const warning = (text: string): Result => ({ state: 'warning', text });
export const failed = (text: string): Result => ({ state: 'failed', text });
export const unchecked = (text: string): Result => ({ state: 'unchecked', text });
