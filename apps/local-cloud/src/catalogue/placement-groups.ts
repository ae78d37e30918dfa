import { type Request, Router } from 'express';
import type { Clock } from '../clock.js';
import { ApiError, invalidInput, notFound } from '../dns/api-error.js';
import { linkHeader, pageOf, parsePage, queryValue, sortItems } from '../dns/http/query.js';
import { parseLabelSelector } from '../dns/label-selector.js';
import { isLabelKey, isLabelValue } from '../dns/labels.js';
import type { Labels } from '../dns/model.js';
import { parseJsonObject } from '../dns/parse-command.js';

export interface PlacementGroup {
  readonly id: number;
  readonly name: string;
  readonly labels: Labels;
  readonly type: 'spread';
  readonly created: string;
  readonly servers: readonly number[];
}

const PER_PAGE_MAX = 50;
/** Of one project, as the upstream has it. */
const GROUPS_MAX = 50;
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._ -]{0,61}[A-Za-z0-9])?$/;

/** Placement groups by the token of their project. In memory only: what they place is not there either. */
export class PlacementGroups {
  readonly #byToken = new Map<string, PlacementGroup[]>();
  #lastId = 600;

  constructor(readonly clock: Clock) {}

  list(token: string): readonly PlacementGroup[] {
    return this.#byToken.get(token) ?? [];
  }

  /** @throws ApiError `uniqueness_error`, `resource_limit_exceeded` */
  create(token: string, { name, labels }: Pick<PlacementGroup, 'name' | 'labels'>): PlacementGroup {
    const present = this.list(token);
    if (present.some((group) => group.name === name)) {
      throw new ApiError(409, 'uniqueness_error', `name is already used: ${name}`);
    }
    if (present.length >= GROUPS_MAX)
      throw new ApiError(403, 'resource_limit_exceeded', 'placement group limit exceeded');
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
    const name = queryValue(req, 'name');
    const selects = parseLabelSelector(queryValue(req, 'label_selector') ?? '');
    const found = groups
      .list(tokenOf(req))
      .filter((group) => (name === undefined || group.name === name) && selects(group.labels));
    const sorts = queryValue(req, 'sort');
    const sorted = sortItems(found, sorts === undefined ? [] : [sorts], {
      id: ({ id }) => id,
      name: (group) => group.name,
      created: ({ created }) => created,
    });
    const page = pageOf(sorted, parsePage(req, PER_PAGE_MAX));
    res.set('Link', linkHeader(req.originalUrl, page));
    res.json({ placement_groups: page.items, meta: { pagination: page.pagination } });
  });
  router.get('/:id', (req, res) => {
    const group = groups.list(tokenOf(req)).find(({ id }) => String(id) === req.params.id);
    if (group === undefined) throw notFound('placement_group');
    res.json({ placement_group: group });
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
  if (typeof labels !== 'object' || labels === null || Array.isArray(labels)) throw invalidInput('labels', 'invalid');
  for (const [key, value] of Object.entries(labels)) {
    if (!isLabelKey(key) || typeof value !== 'string' || !isLabelValue(value)) {
      throw invalidInput('labels', `invalid label '${key}'`);
    }
  }
  return { name, labels: labels as Labels };
}
