import type { Routes } from '../http/serve-routes.js';
import { bodyOf, checkedLabels, pageOf } from './answers.js';

/** Placement groups are made and deleted at once, to see whether a token may write: none is ever there. */
export function placementGroupRoutes(): Routes {
  let lastId = 600;
  return {
    'GET /v1/placement_groups': (req) => pageOf(req, 'placement_groups', []),
    'POST /v1/placement_groups': (req) => {
      const { name, labels = {} } = bodyOf(req);
      lastId += 1;
      const group = { id: lastId, name, labels: checkedLabels(labels), type: 'spread', servers: [] };
      return { placement_group: group, action: null };
    },
    'DELETE /v1/placement_groups/:group': () => undefined,
  };
}
