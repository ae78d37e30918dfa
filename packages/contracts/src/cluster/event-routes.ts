import { type ClusterRoute, team } from './route.js';

/** What clients follow in place of asking again and again. */
export const eventRoutes = [
  {
    operationId: 'streamTeamEvents',
    method: 'get',
    path: `${team}/events/`,
    summary: 'Stream live changes of the team as Server-Sent Events',
    access: 'member',
    answers: { 200: 'teamEvent' },
    events: true,
    problems: [],
  },
] as const satisfies readonly ClusterRoute[];
