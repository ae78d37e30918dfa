import { randomBytes } from 'node:crypto';
import type { Request } from 'express';
import type { Cloud } from '../cloud.js';
import {
  type ActionError,
  ApiError,
  actionBody,
  bodyOf,
  checkedLabels,
  invalidInput,
  JUST_STARTED,
  labelTest,
  pageOf,
  queryValues,
} from '../hcloud/answers.js';
import type { Asked, RouteTable } from '../http/route-table.js';
import { publicAddresses } from './addresses.js';
import { images, type Server, type ServerAction, type Servers, type SystemImage } from './servers.js';

const USER_DATA_BYTES_MAX = 32 * 1024;
const SERVER = '/v1/servers/:server';

/** Servers, their actions and images. @param projectOf the project of the request's token */
export function serverRoutes(cloud: Cloud, projectOf: (req: Request) => string): RouteTable {
  const { clock, servers } = cloud;
  const serverOf = ({ req, param }: Asked): Server => servers.get(projectOf(req), Number(param('server')));
  return {
    'GET /v1/images': ({ req }) => {
      const isAsked = (key: string, value: string): boolean => {
        const values = queryValues(req, key);
        return values.length === 0 || values.includes(value);
      };
      const found = images.filter(
        ({ name, architecture }) => isAsked('name', name) && isAsked('architecture', architecture),
      );
      return pageOf(req, 'images', found, imageBody);
    },
    'GET /v1/servers': ({ req }) => {
      const hasLabels = labelTest(req);
      const project = projectOf(req);
      const own = servers.inProject(project).map((server) => serverBody(servers, server));
      const found = [...own, ...cloud.nodesIn(project)].filter(({ labels }) => hasLabels(labels));
      return pageOf(req, 'servers', found);
    },
    [`GET ${SERVER}`]: (asked) => ({ server: serverBody(servers, serverOf(asked)) }),
    // Replaces all labels.
    [`PUT ${SERVER}`]: (asked) => {
      const labels = checkedLabels(bodyOf(asked.req).labels);
      return { server: serverBody(servers, servers.putLabels(serverOf(asked), labels)) };
    },
    [`DELETE ${SERVER}`]: (asked) => ({
      action: serverActionBody(servers.remove(serverOf(asked)), clock.now()),
    }),
    [`GET ${SERVER}/actions`]: (asked) => {
      const newestFirst = servers.actionsOf(serverOf(asked));
      return pageOf(asked.req, 'actions', newestFirst, (action) => serverActionBody(action, clock.now()));
    },
    [`POST ${SERVER}/actions/rebuild`]: (asked) => {
      const server = serverOf(asked);
      const { image, user_data: userData } = bodyOf(asked.req);
      if (typeof image !== 'string' && typeof image !== 'number') throw invalidInput('image', 'image is required');
      if (Buffer.byteLength(userData ?? '') > USER_DATA_BYTES_MAX) {
        throw invalidInput('user_data', 'user_data must be a text of at most 32 KiB');
      }
      const error = (asked.res.locals.actionError as ActionError | undefined) ?? null;
      const action = servers.rebuild(server, { image: String(image), userData, error });
      return {
        action: serverActionBody(action, JUST_STARTED),
        root_password: server.hasSshKeys ? null : randomBytes(12).toString('hex'),
      };
    },
    [`POST ${SERVER}/actions/poweroff`]: (asked) => ({
      action: serverActionBody(servers.powerOff(serverOf(asked)), JUST_STARTED),
    }),
    // Counted by its name: nothing of Corral may lift a protection.
    [`POST ${SERVER}/actions/change_protection`]: () => {
      throw new ApiError(405, 'method_not_allowed', 'method not allowed');
    },
  };
}

export const serverActionBody = (action: ServerAction, nowMs: number) =>
  actionBody(action, { id: action.serverId, type: 'server' }, nowMs);

/** A server as the services read it. */
function serverBody(servers: Servers, server: Server) {
  const image = images.find(({ id }) => id === server.imageId);
  const [ipv4, ipv6] = publicAddresses(`hcloud://${server.id}`);
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
