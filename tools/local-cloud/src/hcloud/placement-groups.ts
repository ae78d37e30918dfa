import type { Request } from 'express';
import { type Clock, timestamp } from '../clock.js';
import type { RouteTable } from '../http/route-table.js';
import type { Labels } from '../labels.js';
import { ApiError, bodyOf, checkedLabels, labelTest, notFound, pageOf } from './answers.js';

interface PlacementGroup {
  readonly project: string;
  readonly id: number;
  readonly name: string;
  readonly labels: Labels;
  readonly created: string;
}

const bodyFor = ({ project: _, ...group }: PlacementGroup) => ({ ...group, type: 'spread', servers: [] });

/** The placement groups of each project, in memory only. */
export function placementGroupRoutes(clock: Clock, projectOf: (req: Request) => string): RouteTable {
  let groups: PlacementGroup[] = [];
  let lastId = 600;
  return {
    'GET /v1/placement_groups': ({ req }) => {
      const selects = labelTest(req);
      const found = groups.filter(({ project, labels }) => project === projectOf(req) && selects(labels));
      return pageOf(req, 'placement_groups', found, bodyFor);
    },
    'POST /v1/placement_groups': ({ req }) => {
      const project = projectOf(req);
      const { name, labels = {} } = bodyOf(req);
      if (groups.some((group) => group.project === project && group.name === name)) {
        throw new ApiError(409, 'uniqueness_error', `name is already used: ${name}`);
      }
      lastId += 1;
      const group = { project, id: lastId, name, labels: checkedLabels(labels), created: timestamp(clock.now()) };
      groups.push(group);
      return { placement_group: bodyFor(group), action: null };
    },
    'DELETE /v1/placement_groups/:group': ({ req, param }) => {
      const isMeant = ({ project, id }: PlacementGroup): boolean =>
        project === projectOf(req) && String(id) === param('group');
      if (!groups.some(isMeant)) throw notFound('placement_group');
      groups = groups.filter((group) => !isMeant(group));
    },
  };
}
