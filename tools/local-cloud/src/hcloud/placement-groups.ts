import { type Request, Router } from 'express';
import type { Clock } from '../clock.js';
import { sendPage } from '../dns/bodies.js';
import { parseJsonObject, parseLabels } from '../dns/parse-command.js';
import type { Labels } from '../labels.js';
import { ApiError, invalidInput, notFound } from './api-error.js';
import { labelTest, pageOf, parsePage } from './query.js';

export interface PlacementGroup {
  readonly id: number;
  readonly name: string;
  readonly labels: Labels;
  readonly type: 'spread';
  readonly created: string;
  readonly servers: readonly number[];
}

const PER_PAGE_MAX = 50;
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._ -]{0,61}[A-Za-z0-9])?$/;

/** Placement groups by project token. Kept in memory only. */
export class PlacementGroups {
  readonly #byToken = new Map<string, PlacementGroup[]>();
  #lastId = 600;

  constructor(readonly clock: Clock) {}

  list(token: string): readonly PlacementGroup[] {
    return this.#byToken.get(token) ?? [];
  }

  /** @throws ApiError `uniqueness_error` */
  create(token: string, { name, labels }: Pick<PlacementGroup, 'name' | 'labels'>): PlacementGroup {
    const present = this.list(token);
    if (present.some((group) => group.name === name)) {
      throw new ApiError(409, 'uniqueness_error', `name is already used: ${name}`);
    }
    this.#lastId += 1;
    const created = `${new Date(this.clock.now()).toISOString().slice(0, 19)}+00:00`;
    const group: PlacementGroup = { id: this.#lastId, name, labels, type: 'spread', created, servers: [] };
    this.#byToken.set(token, [...present, group]);
    return group;
  }

  /** @throws ApiError `not_found` */
  delete(token: string, id: string): void {
    const present = this.list(token);
    const kept = present.filter((group) => String(group.id) !== id);
    if (kept.length === present.length) throw notFound('placement_group');
    this.#byToken.set(token, kept);
  }
}

/** Mounted at `/v1/placement_groups`. */
export function placementGroupRoutes(groups: PlacementGroups, tokenOf: (req: Request) => string): Router {
  const router = Router();
  router.get('/', (req, res) => {
    const selects = labelTest(req);
    const found = groups.list(tokenOf(req)).filter((group) => selects(group.labels));
    sendPage(res, 'placement_groups', pageOf(found, parsePage(req, PER_PAGE_MAX)), (group) => group);
  });
  router.post('/', (req, res) => {
    res.status(201).json({ placement_group: groups.create(tokenOf(req), parseGroup(req)), action: null });
  });
  router.delete('/:id', (req, res) => {
    groups.delete(tokenOf(req), req.params.id);
    res.status(204).end();
  });
  return router;
}

function parseGroup(req: Request): Pick<PlacementGroup, 'name' | 'labels'> {
  const { name, type, labels = {} } = parseJsonObject(String(req.body));
  if (typeof name !== 'string' || !NAME.test(name)) throw invalidInput('name', 'invalid name');
  if (type !== 'spread') throw invalidInput('type', "must be 'spread'");
  return { name, labels: parseLabels(labels, 'labels') };
}
