import { clusterLimits } from './limits.js';
import { type ClusterRoute, route, team } from './route.js';
import { usageSteps } from './usage.js';

/** The usage of a team over time. */
export const usageRoutes = [
  {
    ...route('getUsage', 'get', `${team}/usage/`, 'viewer'),
    summary: 'Show the team’s usage over time, in hours or days',
    answers: { 200: 'usage' },
    query: [
      {
        name: 'from',
        type: 'time',
        description: `Start; rounded down to an hour or day. Default: ${clusterLimits.usageDaysDefault} days before \`to\`.`,
      },
      {
        name: 'to',
        type: 'time',
        description: 'End; rounded up to an hour or day. Default: the end of the current hour or day.',
      },
      {
        name: 'step',
        type: 'string',
        description: `Length of a point; default \`hour\`. An answer has at most ${clusterLimits.usagePointsMax} points.`,
        values: usageSteps,
      },
    ],
  },
] as const satisfies readonly ClusterRoute[];
