import { randomBytes } from 'node:crypto';
import { type Request, type Response, Router } from 'express';
import type { Clock } from '../clock.js';
import { actionBody, JUST_STARTED, pathParam } from '../dns/bodies.js';
import type { ActionError } from '../dns/model.js';
import { checkedLabels, parseJsonObject } from '../dns/parse-command.js';
import type { ProviderNode } from '../garden/shoots/provider.js';
import { invalidInput, notFound } from '../hcloud/api-error.js';
import { labelTest, queryValue, queryValues, sendPage } from '../hcloud/query.js';
import { images, type Server, type ServerAction, type SystemImage } from './model.js';
import type { Servers } from './servers.js';

const USER_DATA_BYTES_MAX = 32 * 1024;

interface ComputeDeps {
  readonly clock: Clock;
  readonly servers: Servers;
  /** Servers that the garden created in a project. They are read-only here. */
  readonly nodesIn: (project: string) => ProviderNode[];
  /** Project of the request's token. */
  readonly projectOf: (req: Request) => string;
  /** Whether that project also has the zones. Their actions share this path. */
  readonly hasZones: (req: Request) => boolean;
}

/** Mounted at `/v1`, before the DNS API: servers, their actions and images. */
export function computeApi({ clock, servers, nodesIn, projectOf, hasZones }: ComputeDeps): Router {
  const router = Router();
  const serverOf = (req: Request): Server => servers.get(projectOf(req), Number(pathParam(req, 'server')));
  const bodyOf = (action: ServerAction, nowMs = clock.now()) =>
    actionBody(action, { id: action.serverId, type: 'server' }, nowMs);
  const sendAction = (res: Response, action: ServerAction, more: object = {}): void => {
    res.status(201).json({ action: bodyOf(action, JUST_STARTED), ...more });
  };

  router.get('/images', (req, res) => {
    const isAsked = (key: string, value: string): boolean => {
      const values = queryValues(req, key);
      return values.length === 0 || values.includes(value);
    };
    const found = images.filter(
      ({ name, architecture }) => isAsked('name', name) && isAsked('architecture', architecture),
    );
    sendPage(res, 'images', found, imageBody);
  });
  router.get('/servers', (req, res) => {
    const hasLabels = labelTest(req);
    const project = projectOf(req);
    const all = [...servers.inProject(project).map((server) => serverBody(servers, server)), ...nodesIn(project)];
    const found = all.filter(({ labels }) => hasLabels(labels));
    sendPage(res, 'servers', found, (body) => body);
  });
  router.get('/servers/:server', (req, res) => {
    res.json({ server: serverBody(servers, serverOf(req)) });
  });
  router.put('/servers/:server', (req, res) => {
    // Replaces all labels.
    const labels = checkedLabels(parseJsonObject(req.body).labels);
    res.json({ server: serverBody(servers, servers.update(serverOf(req), { labels })) });
  });
  router.delete('/servers/:server', (req, res) => {
    res.json({ action: bodyOf(servers.remove(serverOf(req))) });
  });

  router.get('/servers/:server/actions', (req, res) => {
    const newestFirst = servers.actionsOf(serverOf(req));
    const sorted = queryValue(req, 'sort') === 'id:desc' ? newestFirst : newestFirst.toReversed();
    sendPage(res, 'actions', sorted, (action) => bodyOf(action));
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
    sendAction(res, servers.powerOff(serverOf(req)));
  });

  router.get('/actions/:action', (req, res, next) => {
    const action = servers.findAction(projectOf(req), Number(pathParam(req, 'action')));
    if (action !== null) res.json({ action: bodyOf(action) });
    else if (hasZones(req)) next();
    else throw notFound('action');
  });
  return router;
}

/** Only the fields that the services read. */
function serverBody(servers: Servers, server: Server) {
  const image = images.find(({ id }) => id === server.imageId);
  const isRebuilding = servers.actionsOf(server).some((action) => action.imageId !== null && servers.isRunning(action));
  return {
    id: server.id,
    name: server.name,
    status: isRebuilding ? 'rebuilding' : server.power,
    created: server.created,
    server_type: { name: server.serverType, architecture: server.architecture },
    location: { name: server.location },
    image: image === undefined ? null : imageBody(image),
    iso: null,
    rescue_enabled: server.rescueEnabled,
    locked: servers.isLocked(server),
    protection: server.protection,
    labels: server.labels,
    primary_disk_size: 40,
  };
}

const imageBody = ({ id, name, architecture, diskGb }: SystemImage) => ({
  id,
  type: 'system',
  status: 'available',
  name,
  architecture,
  disk_size: diskGb,
});
