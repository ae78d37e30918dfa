import { type Request, Router } from 'express';
import type { Clock } from '../clock.js';
import { checkedLabels, parseJsonObject } from '../dns/parse-command.js';
import type { Labels } from '../labels.js';
import { ApiError, notFound } from './api-error.js';
import { labelTest, sendPage } from './query.js';

interface PlacementGroup {
  readonly id: number;
  readonly name: string;
  readonly labels: Labels;
  readonly type: 'spread';
  readonly created: string;
  readonly servers: readonly number[];
}

/** Mounted at `/v1/placement_groups`. Each token has its own groups, in memory only. */
export function placementGroupRoutes(clock: Clock, tokenOf: (req: Request) => string): Router {
  const byToken = new Map<string, readonly PlacementGroup[]>();
  const groupsOf = (req: Request): readonly PlacementGroup[] => byToken.get(tokenOf(req)) ?? [];
  let lastId = 600;
  const router = Router();
  router.get('/', (req, res) => {
    const selects = labelTest(req);
    const found = groupsOf(req).filter((group) => selects(group.labels));
    sendPage(res, 'placement_groups', found, (group) => group);
  });
  router.post('/', (req, res) => {
    const { name, labels = {} } = parseJsonObject(req.body);
    if (groupsOf(req).some((group) => group.name === name)) {
      throw new ApiError(409, 'uniqueness_error', `name is already used: ${name}`);
    }
    lastId += 1;
    const created = `${new Date(clock.now()).toISOString().slice(0, 19)}+00:00`;
    const group: PlacementGroup = {
      id: lastId,
      name,
      labels: checkedLabels(labels),
      type: 'spread',
      created,
      servers: [],
    };
    byToken.set(tokenOf(req), [...groupsOf(req), group]);
    res.status(201).json({ placement_group: group, action: null });
  });
  router.delete('/:id', (req, res) => {
    const kept = groupsOf(req).filter(({ id }) => String(id) !== req.params.id);
    if (kept.length === groupsOf(req).length) throw notFound('placement_group');
    byToken.set(tokenOf(req), kept);
    res.status(204).end();
  });
  return router;
}
