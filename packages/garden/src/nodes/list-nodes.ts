import { type Named, nodesPath } from '../paths.js';
import type { NodeReading } from './client.js';
import { listAll } from './list-all.js';
import type { ShootAccesses } from './shoot-access.js';
import { parseNode } from './shoot-nodes.js';

/** Of a page of nodes: each is about 15 KB, and a Shoot's own administrators may make them larger. */
export const nodeListBytesMax = 8 * 1024 * 1024;
const listed = { resource: 'nodes', query: {}, pageSize: 100, pagesMax: 20 };

/** @param accesses such as may read */
export function listNodes(accesses: ShootAccesses, shoot: Named, signal?: AbortSignal): Promise<NodeReading[]> {
  return listAll(accesses, shoot, { ...listed, path: nodesPath }, parseNode, signal);
}
