import { type ClusterRoute, team } from './route.js';

/** What clients follow in place of asking again and again. */
export const eventRoutes = [
  {
    operationId: 'streamTeamEvents',
    method: 'get',
    path: `${team}/events/`,
    summary: 'What changes in the team, as it happens, as Server-Sent Events',
    access: 'member',
    answers: { 200: 'teamEvent' },
    events: true,
    problems: [],
  },
] as const satisfies readonly ClusterRoute[];
