import type { TeamId, TokenCoverage } from '@corral/contracts';

/** The scope that the record-set endpoints require. */
export const DNS_SCOPE = 'dns';

/** The caller of the DNS API, from its token. Contains nothing that would reveal the token's text. */
export interface DnsCaller extends TokenCoverage {
  readonly tokenId: string;
  /** A team's names are in the team zone, a demo's in the demo zone. Neither sees the other zone. */
  readonly kind: 'team' | 'demo';
  /** The team or demo that owns names, quota and actions. */
  readonly ownerId: string;
  /** The team, or the team of the demo; null for a demo created with a course code. */
  readonly teamId: TeamId | null;
  /** Account for request and upstream budgets: the team, or the course, which counts as one team. */
  readonly accountId: string;
  readonly scopes: readonly string[];
  readonly expiresAt: Date | null;
  /** The team's own limits of requests per minute: of each of its tokens, and of all together. Null for the default. */
  readonly tokenRequestsMax: number | null;
  readonly teamRequestsMax: number | null;
}
