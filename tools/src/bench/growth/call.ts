import type { ClusterOperationId, DnsOperationId } from '@corral/contracts';
import type { Answer, Asked, Site } from './site.js';

/** A request of a route, with data of an installation, for the n-th time. */
export interface Call {
  readonly of: ClusterOperationId | DnsOperationId;
  /** What distinguishes it from other calls of the route, such as a filter. */
  readonly how?: string;
  readonly ask: (site: Site, n: number) => Asked;
  /** Keeps what later calls need. */
  readonly take?: (site: Site, answer: Answer) => void;
  /** Before it, not measured. */
  readonly prepare?: (site: Site, n: number) => Promise<void>;
}

/** Calls that follow each other. */
export interface Cycle {
  readonly calls: readonly Call[];
  /** Where a limit of the API ends a longer measurement. */
  readonly timesMax?: number;
}

export const nameOf = ({ of, how }: Call): string => (how === undefined ? of : `${of}, ${how}`);

export const TEAM = '/api/v1/teams/acme';
export const MEMBERS = '/a/acme/team/api/members/';
export const INVITATIONS = '/a/acme/team/api/invitations/';

export type Path = string | ((site: Site, n: number) => string);

export const get = (path: Path, more: Partial<Asked> = {}): Call['ask'] => {
  const pathOf = typeof path === 'string' ? () => path : path;
  return (site, n) => ({ api: 'cluster', method: 'GET', path: pathOf(site, n), ...more });
};

type Of<T> = T | ((site: Site, n: number) => T);
const resolved = <T>(of: Of<T>, site: Site, n: number): T =>
  typeof of === 'function' ? (of as (site: Site, n: number) => T)(site, n) : of;

export const send =
  (method: Asked['method'], path: Of<string>, body?: Of<object>, more: Partial<Asked> = {}): Call['ask'] =>
  (site, n) => ({
    api: 'cluster',
    method,
    path: resolved(path, site, n),
    ...(body === undefined ? {} : { body: resolved(body, site, n) }),
    ...more,
  });

/** Keeps a field of a JSON answer. */
export const keep =
  (field: string, as: string): NonNullable<Call['take']> =>
  (site: Site, { text }: Answer) => {
    site.kept.set(as, String((JSON.parse(text) as Record<string, unknown>)[field]));
  };
export const kept = (site: Site, name: string): string => site.kept.get(name) as string;

/** The invitation of the guest, as a cycle without the mails would leave it. */
export const inviteGuest = async ({ pool, seeded }: Site): Promise<void> => {
  await pool.query('UPDATE invitation SET accepted_at = NULL, revoked_at = NULL WHERE id = $1', [
    seeded.ids.invitation,
  ]);
};
