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
} from '../hcloud/answers.js';
import { param, type Routes } from '../http/serve-routes.js';
import { publicAddresses } from './addresses.js';
import { images, type Server } from './servers.js';

const USER_DATA_BYTES_MAX = 32 * 1024;
const SERVER = '/v1/servers/:server';

/** Servers, their actions and images. @param projectOf the project of the request's token */
export function serverRoutes(cloud: Cloud, projectOf: (req: Request) => string): Routes {
  const { clock, servers } = cloud;
  const serverOf = (req: Request): Server => servers.get(projectOf(req), Number(param(req, 'server')));
  const inProject = (req: Request): Server[] => servers.list().filter(({ project }) => project === projectOf(req));
  const actionsOf = ({ id, actions }: Server, nowMs = clock.now()) =>
    actions.map((action) => actionBody(action, { id, type: 'server' }, nowMs));
  /** Nothing of Corral may power off or delete a server, or lift its protection: it is noted, and refused. */
  const refuse = (harm: string) => (req: Request) => {
    const { id, harms } = serverOf(req);
    servers.change(id, { harms: [...harms, harm] });
    throw new ApiError(405, 'method_not_allowed', 'method not allowed');
  };
  return {
    'GET /v1/images': (req) => {
      const fits = (key: 'name' | 'architecture', image: Image): boolean =>
        (req.query[key] ?? image[key]) === image[key];
      const found = images.filter((image) => fits('name', image) && fits('architecture', image));
      return pageOf(req, 'images', found, imageBody);
    },
    'GET /v1/servers': (req) => {
      const hasLabels = labelTest(req);
      const all = [...inProject(req).map(serverBody), ...cloud.nodesIn(projectOf(req))];
      return pageOf(
        req,
        'servers',
        all.filter(({ labels }) => hasLabels(labels)),
      );
    },
    [`GET ${SERVER}`]: (req) => ({ server: serverBody(serverOf(req)) }),
    // Replaces all labels.
    [`PUT ${SERVER}`]: (req) => {
      const { id } = serverOf(req);
      return { server: serverBody(servers.change(id, { labels: checkedLabels(bodyOf(req).labels) })) };
    },
    [`GET ${SERVER}/actions`]: (req) => pageOf(req, 'actions', actionsOf(serverOf(req))),
    'GET /v1/actions/:action': (req) => {
      const all = inProject(req).flatMap((server) => actionsOf(server));
      const action = all.find(({ id }) => id === Number(param(req, 'action')));
      if (action === undefined) throw notFound('action');
      return { action };
    },
    [`POST ${SERVER}/actions/rebuild`]: (req, res) => {
      const server = serverOf(req);
      const { image, user_data: userData } = bodyOf(req);
      if (Buffer.byteLength(userData ?? '') > USER_DATA_BYTES_MAX) {
        throw invalidInput('user_data', 'user_data must be a text of at most 32 KiB');
      }
      const action = servers.rebuild(server, { image: Number(image), userData, error: res.locals.actionError ?? null });
      return {
        action: actionBody(action, { id: server.id, type: 'server' }, JUST_STARTED),
        root_password: server.hasSshKeys ? null : randomBytes(12).toString('hex'),
      };
    },
    [`POST ${SERVER}/actions/poweroff`]: refuse('poweroff'),
    [`DELETE ${SERVER}`]: refuse('delete'),
    [`POST ${SERVER}/actions/change_protection`]: refuse('change_protection'),
  };
}

/** A server as the services read it. */
function serverBody(server: Server) {
  const image = images.find(({ id }) => id === server.imageId);
  const [ipv4, ipv6] = publicAddresses(`hcloud://${server.id}`);
  return {
    id: server.id,
    name: server.name,
    status: server.isRebuilding ? 'rebuilding' : 'running',
    server_type: { name: server.serverType, architecture: server.architecture },
    location: { name: server.location },
    image: image === undefined ? null : imageBody(image),
    iso: null,
    rescue_enabled: false,
    locked: server.locked || server.isRebuilding,
    protection: server.protection,
    labels: server.labels,
    public_net: { ipv4: { ip: ipv4 }, ipv6: { ip: ipv6.replace('::1', '::/64') } },
    primary_disk_size: 40,
  };
}

type Image = (typeof images)[number];
const imageBody = (image: Image) => ({ ...image, disk_size: 5 });
