import type { Prisma } from '@corral/database';
import type { ChangeTeam } from '../changes/team-changes.js';
import { accountService } from './accounts.js';
import { accountRoutes } from './routes.js';
import { accountStore } from './store.js';
import { trustedIssuerRoutes } from './trusted-issuer-routes.js';
import { trustedIssuerStore } from './trusted-issuer-store.js';
import { type IssuerServiceDeps, issuerService } from './trusted-issuers.js';

export interface AccountHandlerDeps {
  readonly prisma: Prisma;
  readonly changeTeam: ChangeTeam;
  readonly issuerCalls: Pick<IssuerServiceDeps, 'refusalOfUrl'>;
}

/** Builds the handlers for service accounts, their tokens and trusted issuers. */
export function buildAccountHandlers({ prisma, changeTeam, issuerCalls }: AccountHandlerDeps) {
  const store = accountStore(prisma, changeTeam);
  const issuers = trustedIssuerStore(prisma, changeTeam);
  const { refusalOfUrl } = issuerCalls;
  return {
    ...accountRoutes({ store, accounts: accountService({ store }) }),
    ...trustedIssuerRoutes({ store: issuers, issuers: issuerService({ store: issuers, refusalOfUrl }) }),
  };
}
