import { randomUUID } from 'node:crypto';
import type { Prisma } from '@corral/database';
import type { Queue } from '@corral/queue';
import type { ChangeTeam } from '../changes/team-changes.js';
import { invitationRoutes } from '../people/invitation-routes.js';
import { invitationService } from '../people/invitations.js';
import { dashboardUrlOf } from './body.js';
import { teamRoutes } from './routes.js';
import { teamStore } from './store.js';
import { teamService } from './teams.js';

export interface TeamConfig {
  /** Public base URL of this service, without a trailing slash. */
  readonly publicUrl: () => string;
  /** Base URL of the console, without a trailing slash. Null without a console. */
  readonly consoleUrl: () => string | null;
}

export interface TeamHandlerDeps {
  readonly config: TeamConfig;
  readonly prisma: Prisma;
  readonly changeTeam: ChangeTeam;
  readonly queue: Pick<Queue, 'nudge'>;
}

/** Builds the handlers for teams, members and invitations. */
export function buildTeamHandlers({ config, prisma, changeTeam, queue }: TeamHandlerDeps) {
  const { consoleUrl, publicUrl } = config;
  const urlOf = dashboardUrlOf({ consoleUrl, publicUrl });
  const store = teamStore(prisma, changeTeam);
  const wakeMail = () => queue.nudge('send-mails', {}, { jobId: 'send-mails' });
  return {
    ...teamRoutes({ teams: teamService({ store, urlOf }), store, urlOf }),
    ...invitationRoutes({ invitations: invitationService({ store, wakeMail, newId: randomUUID }), store }),
  };
}
