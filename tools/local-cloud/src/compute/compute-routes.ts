import { randomBytes } from 'node:crypto';
import { type Request, type Response, Router } from 'express';
import { timestamp } from '../clock.js';
import { pathParam, sendPage } from '../dns/bodies.js';
import type { ActionError } from '../dns/model.js';
import { parseJsonObject, parseLabels } from '../dns/parse-command.js';
import type { ProviderNode } from '../garden/gardenlet/provider.js';
import { ApiError, invalidInput, notFound } from '../hcloud/api-error.js';
import { labelTest, pageOf, parsePage, queryValue, queryValues } from '../hcloud/query.js';
import { images, type Server, type ServerAction, type SystemImage } from './model.js';
import type { Servers } from './servers.js';

const PER_PAGE_MAX = 50;
const USER_DATA_BYTES_MAX = 32 * 1024;

interface ComputeDeps {
  readonly servers: Servers;
  /** Servers that the garden created in a project. They are read-only here. */
  readonly nodesIn: (project: string) => ProviderNode[];
  /** Project of the request's token. */
  readonly projectOf: (req: Request) => string;
  /** Whether that project also has the zones. Their actions share this path. */
  readonly hasZones: (req: Request) => boolean;
}

/** Mounted at `/v1`, before the DNS API: servers, their actions and images. */
export function computeApi({ servers, nodesIn, projectOf, hasZones }: ComputeDeps): Router {
  const router = Router();
  const serverOf = (req: Request): Server => servers.get(projectOf(req), numberIn(req, 'server', 'server'));
  const sendAction = (res: Response, action: ServerAction, more: object = {}): void => {
    // Like the upstream, the response shows the action as running, however short it is.
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
    sendPage(res, 'images', pageOf(found, parsePage(req, PER_PAGE_MAX)), imageBody);
  });
  router.get('/servers', (req, res) => {
    const name = queryValue(req, 'name');
    const hasLabels = labelTest(req);
    const project = projectOf(req);
    const found = [...servers.inProject(project), ...nodesIn(project).map((node) => asServer(project, node))].filter(
      (server) => (name === undefined || server.name === name) && hasLabels(server.labels),
    );
    const page = pageOf(found, parsePage(req, PER_PAGE_MAX));
    sendPage(res, 'servers', page, (server) => serverBody(servers, server));
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
    const change = {
      ...(name === undefined ? {} : { name: name as string }),
      // Replaces all labels.
      ...(labels === undefined ? {} : { labels: parseLabels(labels, 'labels') }),
    };
    res.json({ server: serverBody(servers, servers.update(server, change)) });
  });
  router.delete('/servers/:server', (req, res) => {
    res.json({ action: serverActionBody(servers, servers.remove(serverOf(req))) });
  });

  router.get('/servers/:server/actions', (req, res) => {
    const newestFirst = servers.actionsOf(serverOf(req));
    const sorted = queryValue(req, 'sort') === 'id:desc' ? newestFirst : newestFirst.toReversed();
    const page = pageOf(sorted, parsePage(req, PER_PAGE_MAX));
    sendPage(res, 'actions', page, (action) => serverActionBody(servers, action));
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

const asServer = (project: string, { createdAt: created, ...node }: ProviderNode): Server => ({
  ...{ ...node, project, created, architecture: node.serverType.startsWith('cax') ? 'arm' : 'x86', imageId: null },
  ...{ protection: { delete: false, rebuild: false }, locked: false, rescueEnabled: false, iso: false, diskGb: 40 },
  ...{ power: 'running', status: null, hasSshKeys: true, userData: null, rebuilds: 0, powerOffs: 0, deletedBy: null },
  ...{ rebuild: null, firstBoot: null, joins: false, joinMs: null },
});

function serverBody(servers: Servers, server: Server) {
  const image = images.find(({ id }) => id === server.imageId);
  const isRebuilding = servers.actionsOf(server).some((action) => action.imageId !== null && servers.isRunning(action));
  return {
    id: server.id,
    name: server.name,
    status: server.status ?? (isRebuilding ? 'rebuilding' : server.power),
    created: server.created,
    public_net: { ipv4: null, ipv6: null, floating_ips: [], firewalls: [] },
    private_net: [],
    server_type: {
      ...{ id: 22, name: server.serverType, architecture: server.architecture },
      ...{ cores: 2, memory: 4, disk: server.diskGb, storage_type: 'local', cpu_type: 'shared' },
    },
    location: { id: 3, name: server.location, network_zone: 'eu-central' },
    image: image === undefined ? null : imageBody(image),
    iso: server.iso ? { id: 1, name: 'rescue.iso', type: 'public', architecture: server.architecture } : null,
    rescue_enabled: server.rescueEnabled,
    locked: servers.isLocked(server),
    backup_window: null,
    outgoing_traffic: 0,
    ingoing_traffic: 0,
    included_traffic: 0,
    protection: server.protection,
    labels: server.labels,
    volumes: [],
    load_balancers: [],
    primary_disk_size: server.diskGb,
    placement_group: null,
  };
}

const imageBody = ({ id, name, architecture, diskGb }: SystemImage) => ({
  ...{ id, type: 'system', status: 'available', name, description: name, image_size: null, disk_size: diskGb },
  ...{ created: '2024-04-25T13:26:51+00:00', created_from: null, bound_to: null, os_flavor: name.split('-')[0] },
  ...{ os_version: name.split('-')[1], rapid_deploy: true, protection: { delete: false }, deprecated: null },
  ...{ deleted: null, labels: {}, architecture },
});

function serverActionBody(servers: Servers, action: ServerAction) {
  const isRunning = servers.isRunning(action);
  return {
    id: action.id,
    command: action.command,
    status: isRunning ? 'running' : action.error === null ? 'success' : 'error',
    progress: isRunning ? 0 : 100,
    started: timestamp(action.startedAt),
    finished: isRunning ? null : timestamp(action.finishesAt),
    resources: [{ id: action.serverId, type: 'server' }],
    error: isRunning ? null : action.error,
  };
}
