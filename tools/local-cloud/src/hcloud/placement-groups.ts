import type { Request } from 'express';
import { type Clock, timestamp } from '../clock.js';
import { param, type Routes } from '../http/serve-routes.js';
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
export function placementGroupRoutes(clock: Clock, projectOf: (req: Request) => string): Routes {
  const groups = new Map<number, PlacementGroup>();
  let lastId = 600;
  return {
    'GET /v1/placement_groups': (req) => {
      const selects = labelTest(req);
      const found = [...groups.values()].filter((group) => group.project === projectOf(req) && selects(group.labels));
      return pageOf(req, 'placement_groups', found, bodyFor);
    },
    'POST /v1/placement_groups': (req) => {
      const project = projectOf(req);
      const { name, labels = {} } = bodyOf(req);
      if ([...groups.values()].some((group) => group.project === project && group.name === name)) {
        throw new ApiError(409, 'uniqueness_error', `name is already used: ${name}`);
      }
      lastId += 1;
      const group = { project, id: lastId, name, labels: checkedLabels(labels), created: timestamp(clock.now()) };
      groups.set(lastId, group);
      return { placement_group: bodyFor(group), action: null };
    },
    'DELETE /v1/placement_groups/:group': (req) => {
      const id = Number(param(req, 'group'));
      if (groups.get(id)?.project !== projectOf(req)) throw notFound('placement_group');
      groups.delete(id);
    },
  };
}
