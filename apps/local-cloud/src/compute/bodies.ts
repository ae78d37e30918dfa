import { timestamp } from '../clock.js';
import { images } from './images.js';
import type { Server, ServerAction, SystemImage } from './model.js';
import type { Servers } from './servers.js';

export function serverBody(servers: Servers, server: Server) {
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

export const imageBody = ({ id, name, architecture, diskGb }: SystemImage) => ({
  ...{ id, type: 'system', status: 'available', name, description: name, image_size: null, disk_size: diskGb },
  ...{ created: '2024-04-25T13:26:51+00:00', created_from: null, bound_to: null, os_flavor: name.split('-')[0] },
  ...{ os_version: name.split('-')[1], rapid_deploy: true, protection: { delete: false }, deprecated: null },
  ...{ deleted: null, labels: {}, architecture },
});

export function serverActionBody(servers: Servers, action: ServerAction) {
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
