import { type ClusterRoute, team } from './route.js';

/** Live changes, as an alternative to polling. */
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
