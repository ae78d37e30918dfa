import type { Prisma } from '@corral/database';
import type { ChangeTeam } from '../changes/team-changes.js';
import { accountService } from './accounts.js';
import { accountRoutes } from './routes.js';
import { accountStore } from './store.js';

export interface AccountHandlerDeps {
  readonly prisma: Prisma;
  readonly changeTeam: ChangeTeam;
}

/** Builds the handlers for service accounts and their tokens. */
export function buildAccountHandlers({ prisma, changeTeam }: AccountHandlerDeps) {
  const store = accountStore(prisma, changeTeam);
  return accountRoutes({ store, accounts: accountService({ store }) });
}
