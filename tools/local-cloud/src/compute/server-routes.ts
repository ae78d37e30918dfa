import { randomBytes } from 'node:crypto';
import type { Request } from 'express';
import type { Cloud } from '../cloud.js';
import {
  ApiError,
  actionBody,
  bodyOf,
  checkedLabels,
  invalidInput,
  JUST_STARTED,
  labelTest,
  notFound,
  pageOf,
  queryValues,
} from '../hcloud/answers.js';
import { param, type Routes } from '../http/serve-routes.js';
import { publicAddresses } from './addresses.js';
import { images, type Server, type ServerAction, type Servers, type SystemImage } from './servers.js';

const USER_DATA_BYTES_MAX = 32 * 1024;
const SERVER = '/v1/servers/:server';

/** Servers, their actions and images. @param projectOf the project of the request's token */
export function serverRoutes(cloud: Cloud, projectOf: (req: Request) => string): Routes {
  const { clock, servers } = cloud;
  const serverOf = (req: Request): Server => servers.get(projectOf(req), Number(param(req, 'server')));
  /** Nothing of Corral may power off or delete a server, or lift its protection: it is noted, and refused. */
  const refuse = (harm: string) => (req: Request) => {
    const { id, harms } = serverOf(req);
    servers.change(id, { harms: [...harms, harm] });
    throw new ApiError(405, 'method_not_allowed', 'method not allowed');
  };
  return {
    'GET /v1/images': (req) => {
      const isAsked = (key: 'name' | 'architecture', image: SystemImage): boolean => {
        const values = queryValues(req, key);
        return values.length === 0 || values.includes(image[key]);
      };
      return pageOf(
        req,
        'images',
        images.filter((image) => isAsked('name', image) && isAsked('architecture', image)),
        imageBody,
      );
    },
    'GET /v1/servers': (req) => {
      const hasLabels = labelTest(req);
      const project = projectOf(req);
      const own = servers.inProject(project).map((server) => serverBody(servers, server));
      const found = [...own, ...cloud.nodesIn(project)].filter(({ labels }) => hasLabels(labels));
      return pageOf(req, 'servers', found);
    },
    [`GET ${SERVER}`]: (req) => ({ server: serverBody(servers, serverOf(req)) }),
    // Replaces all labels.
    [`PUT ${SERVER}`]: (req) => {
      const server = servers.change(serverOf(req).id, { labels: checkedLabels(bodyOf(req).labels) });
      return { server: serverBody(servers, server) };
    },
    [`GET ${SERVER}/actions`]: (req) => {
      const newestFirst = servers.actionsOf(serverOf(req));
      return pageOf(req, 'actions', newestFirst, (action) => serverActionBody(action, clock.now()));
    },
    'GET /v1/actions/:action': (req) => {
      const action = servers.findAction(projectOf(req), Number(param(req, 'action')));
      if (action === null) throw notFound('action');
      return { action: serverActionBody(action, clock.now()) };
    },
    [`POST ${SERVER}/actions/rebuild`]: (req, res) => {
      const server = serverOf(req);
      const { image, user_data: userData } = bodyOf(req);
      if (Buffer.byteLength(userData ?? '') > USER_DATA_BYTES_MAX) {
        throw invalidInput('user_data', 'user_data must be a text of at most 32 KiB');
      }
      const error = res.locals.actionError ?? null;
      return {
        action: serverActionBody(servers.rebuild(server, { image: Number(image), userData, error }), JUST_STARTED),
        root_password: server.hasSshKeys ? null : randomBytes(12).toString('hex'),
      };
    },
    [`POST ${SERVER}/actions/poweroff`]: refuse('poweroff'),
    [`DELETE ${SERVER}`]: refuse('delete'),
    [`POST ${SERVER}/actions/change_protection`]: refuse('change_protection'),
  };
}

const serverActionBody = (action: ServerAction, nowMs: number) =>
  actionBody(action, { id: action.serverId, type: 'server' }, nowMs);

/** A server as the services read it. */
function serverBody(servers: Servers, server: Server) {
  const image = images.find(({ id }) => id === server.imageId);
  const [ipv4, ipv6] = publicAddresses(`hcloud://${server.id}`);
  return {
    id: server.id,
    name: server.name,
    status: servers.isRebuilding(server) ? 'rebuilding' : 'running',
    created: server.created,
    server_type: { name: server.serverType, architecture: server.architecture },
    location: { name: server.location },
    image: image === undefined ? null : imageBody(image),
    iso: null,
    rescue_enabled: false,
    locked: server.locked || servers.isRebuilding(server),
    protection: server.protection,
    labels: server.labels,
    public_net: { ipv4: { ip: ipv4 }, ipv6: { ip: ipv6.replace('::1', '::/64') } },
    primary_disk_size: 40,
  };
}

const imageBody = ({ id, name, architecture }: SystemImage) => ({
  id,
  type: 'system',
  status: 'available',
  name,
  architecture,
  disk_size: 5,
});
