import { randomUUID } from 'node:crypto';
import type { PartDeps } from './build-app.js';
import { billingService } from './domain/billing.js';
import { invitationService } from './domain/invitations.js';
import { dashboardUrlOf } from './domain/team-body.js';
import { teamService } from './domain/teams.js';
import { billingRoutes } from './routes/billing.js';
import { invitationRoutes } from './routes/invitations.js';
import { teamRoutes } from './routes/teams.js';
import { subscriptionStore } from './store/subscription-store.js';
import { teamStore } from './store/team-store.js';

export interface TeamConfig {
  /** Base address of the console, without a slash at its end; null without one. */
  readonly consoleUrl: string | null;
  /** Any of which the billing system may sign with; none: there is no billing system. */
  readonly billingSecrets: readonly string[];
}

/** Teams with their members, invitations and subscriptions. */
export function buildTeamHandlers({ config, prisma, changeTeam, queue }: PartDeps) {
  const { consoleUrl, publicUrl, billingSecrets: secrets } = config;
  const urlOf = dashboardUrlOf({ consoleUrl, publicUrl });
  const store = teamStore(prisma, changeTeam);
  const wakeMail = () => queue.nudge('send-mails', {}, { jobId: 'send-mails' });
  return {
    ...teamRoutes({ teams: teamService({ store, urlOf }), store, urlOf }),
    ...invitationRoutes({ invitations: invitationService({ store, wakeMail, newId: randomUUID }), store }),
    ...billingRoutes({ billing: billingService({ store: subscriptionStore(prisma, changeTeam) }), secrets }),
  };
}
