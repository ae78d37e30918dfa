import { randomBytes } from 'node:crypto';
import { type Request, type Response, Router } from 'express';
import { ApiError, invalidInput, notFound } from '../dns/api-error.js';
import { pathParam, sendPage } from '../dns/http/api-deps.js';
import { pageOf, parsePage, queryValue, queryValues, sortItems } from '../dns/http/query.js';
import { parseLabelSelector } from '../dns/label-selector.js';
import { isLabelKey, isLabelValue } from '../dns/labels.js';
import type { ActionError, Labels } from '../dns/model.js';
import { parseJsonObject } from '../dns/parse-command.js';
import type { ProviderNode } from '../garden/gardenlet/provider-nodes.js';
import { imageBody, serverActionBody, serverBody } from './bodies.js';
import { images } from './images.js';
import type { Server, ServerAction } from './model.js';
import type { Servers } from './servers.js';

const PER_PAGE_MAX = 50;
const USER_DATA_BYTES_MAX = 32 * 1024;

export interface ComputeDeps {
  readonly servers: Servers;
  /** Servers that the garden has made in a project. They can be looked at. */
  readonly nodesIn: (project: string) => ProviderNode[];
  /** Of the token that the request came with. */
  readonly projectOf: (req: Request) => string;
  /** Whether that project has the zones as well, whose actions are asked for under the same path. */
  readonly hasZones: (req: Request) => boolean;
}

/** Mounted at `/v1`, before the DNS API: servers, their actions, and images. */
export function computeApi({ servers, nodesIn, projectOf, hasZones }: ComputeDeps): Router {
  const router = Router();
  const serverOf = (req: Request): Server => servers.get(projectOf(req), numberIn(req, 'server', 'server'));
  const sendAction = (res: Response, action: ServerAction, more: object = {}): void => {
    // Like the upstream: an action has only begun when it is answered, however short it is.
    const begun = { status: 'running', progress: 0, finished: null, error: null };
    res.status(201).json({ action: { ...serverActionBody(servers, action), ...begun }, ...more });
  };

  router.get('/images', (req, res) => {
    const [names, types, architectures] = [
      queryValues(req, 'name'),
      queryValues(req, 'type'),
      queryValues(req, 'architecture'),
    ];
    const isAsked = (values: readonly string[], value: string) => values.length === 0 || values.includes(value);
    const found = images.filter(
      ({ name, architecture }) =>
        isAsked(names, name) && isAsked(types, 'system') && isAsked(architectures, architecture),
    );
    sendPage(req, res, 'images', pageOf(found, parsePage(req, PER_PAGE_MAX)), imageBody);
  });
  router.get('/images/:image', (req, res) => {
    const image = images.find(({ id }) => String(id) === pathParam(req, 'image'));
    if (image === undefined) throw notFound('image');
    res.json({ image: imageBody(image) });
  });

  router.get('/servers', (req, res) => {
    const name = queryValue(req, 'name');
    const hasLabels = parseLabelSelector(queryValue(req, 'label_selector') ?? '');
    const project = projectOf(req);
    const found = [...servers.inProject(project), ...nodesIn(project).map((node) => asServer(project, node))].filter(
      (server) => (name === undefined || server.name === name) && hasLabels(server.labels),
    );
    const page = pageOf(found, parsePage(req, PER_PAGE_MAX));
    sendPage(req, res, 'servers', page, (server) => serverBody(servers, server));
  });
  router.get('/servers/:server', (req, res) => {
    const project = projectOf(req);
    const node = nodesIn(project).find(({ id }) => String(id) === pathParam(req, 'server'));
    res.json({ server: serverBody(servers, node === undefined ? serverOf(req) : asServer(project, node)) });
  });
  router.put('/servers/:server', (req, res) => {
    const server = serverOf(req);
    const { name, labels } = parseJsonObject(req.body);
    if (name !== undefined && (typeof name !== 'string' || name === '')) throw invalidInput('name', 'invalid name');
    const change = { ...(name === undefined ? {} : { name: name as string }), ...labelsIn(labels) };
    res.json({ server: serverBody(servers, servers.update(server, change)) });
  });
  router.delete('/servers/:server', (req, res) => {
    res.json({ action: serverActionBody(servers, servers.remove(serverOf(req))) });
  });

  router.get('/servers/:server/actions', (req, res) => {
    const sorts = queryValues(req, 'sort');
    const newestFirst = servers.actionsOf(serverOf(req));
    const sorted = sortItems(sorts.length === 0 ? newestFirst.toReversed() : newestFirst, sorts, {
      id: ({ id }) => id,
      command: ({ command }) => command,
      started: ({ startedAt }) => startedAt,
      finished: ({ finishesAt }) => finishesAt,
    });
    const page = pageOf(sorted, parsePage(req, PER_PAGE_MAX));
    sendPage(req, res, 'actions', page, (action) => serverActionBody(servers, action));
  });
  router.get('/servers/:server/actions/:action', (req, res) => {
    const { id } = serverOf(req);
    const action = servers.findAction(projectOf(req), numberIn(req, 'action', 'action'));
    if (action?.serverId !== id) throw notFound('action');
    res.json({ action: serverActionBody(servers, action) });
  });
  router.post('/servers/:server/actions/rebuild', (req, res) => {
    const server = serverOf(req);
    const { image, user_data: userData } = parseJsonObject(req.body);
    if (typeof image !== 'string' && typeof image !== 'number') throw invalidInput('image', 'image is required');
    if (userData !== undefined && (typeof userData !== 'string' || Buffer.byteLength(userData) > USER_DATA_BYTES_MAX)) {
      throw invalidInput('user_data', 'user_data must be a text of at most 32 KiB');
    }
    const error = (res.locals.actionError as ActionError | undefined) ?? null;
    const action = servers.rebuild(server, { image: String(image), userData, error });
    sendAction(res, action, { root_password: server.hasSshKeys ? null : randomBytes(12).toString('hex') });
  });
  router.post('/servers/:server/actions/poweroff', (req, res) => {
    sendAction(res, servers.power(serverOf(req), 'off', 'stop_server'));
  });
  router.post('/servers/:server/actions/poweron', (req, res) => {
    sendAction(res, servers.power(serverOf(req), 'running', 'start_server'));
  });
  router.post('/servers/:server/actions/change_protection', (req, res) => {
    const { delete: ofDeletion, rebuild } = parseJsonObject(req.body);
    if (typeof ofDeletion !== 'boolean' || ofDeletion !== rebuild) {
      throw invalidInput('rebuild', 'delete and rebuild must be equal');
    }
    sendAction(res, servers.protect(serverOf(req), { delete: ofDeletion, rebuild }));
  });

  router.get('/actions/:action', (req, res, next) => {
    const text = pathParam(req, 'action');
    const action = /^\d{1,16}$/.test(text) ? servers.findAction(projectOf(req), Number(text)) : null;
    if (action !== null) res.json({ action: serverActionBody(servers, action) });
    else if (hasZones(req)) next();
    else throw notFound('action');
  });
  router.get('/actions', (req, res, next) => {
    const ids = [...new Set(queryValues(req, 'id').map(Number))];
    const found = ids.flatMap((id) => servers.findAction(projectOf(req), id) ?? []);
    if (hasZones(req) && found.length < Math.max(1, ids.length)) return next();
    if (ids.length === 0) throw new ApiError(410, 'deprecated_api_endpoint', 'listing actions needs at least one id');
    res.json({ actions: found.map((action) => serverActionBody(servers, action)) });
  });
  return router;
}

function numberIn(req: Request, parameter: string, what: string): number {
  const text = pathParam(req, parameter);
  if (!/^\d{1,16}$/.test(text)) throw notFound(what);
  return Number(text);
}

/** They replace all that were there. */
function labelsIn(labels: unknown): { labels?: Labels } {
  if (labels === undefined) return {};
  const entries = typeof labels === 'object' && labels !== null ? Object.entries(labels) : null;
  const areValid = entries?.every(
    ([key, value]) => isLabelKey(key) && typeof value === 'string' && isLabelValue(value),
  );
  if (!areValid) throw invalidInput('labels', 'invalid labels');
  return { labels: labels as Labels };
}

const asServer = (project: string, { createdAt: created, ...node }: ProviderNode): Server => ({
  ...{ ...node, project, created, architecture: node.serverType.startsWith('cax') ? 'arm' : 'x86', imageId: null },
  ...{ protection: { delete: false, rebuild: false }, locked: false, rescueEnabled: false, iso: false, diskGb: 40 },
  ...{ power: 'running', status: null, hasSshKeys: true, userData: null, rebuilds: 0, powerOffs: 0, deletedBy: null },
  ...{ rebuild: null, firstBoot: null, joins: false, joinMs: null },
});
