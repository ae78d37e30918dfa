import { type Column, textColumn } from '../kinds/kind.js';
import type { KubeObject } from '../kube/object.js';

/** Whether the client requests a table, as kubectl does. */
export const wantsTable = (accept: string): boolean =>
  /;\s*as=Table\b/.test(accept) && /;\s*v=v1(\s*[;,]|$)/.test(accept);

/** Age as kubectl prints it: the two largest units, or one for longer ages. */
export function shownAge(sinceMs: number, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - sinceMs) / 1000));
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  const joined = (count: number, unit: string, rest: number, small: string): string =>
    rest === 0 ? `${count}${unit}` : `${count}${unit}${rest}${small}`;
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return joined(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  if (hours < 8) return joined(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  if (days < 8) return joined(days, 'd', hours % 24, 'h');
  return `${days}d`;
}

/** Renders objects as a `Table` of `meta.k8s.io/v1`, with the name in the first column and the age in the last. */
export function tableOf(
  columns: readonly Column[],
  objects: readonly KubeObject[],
  options: { metadata: unknown; includeObject: string | null; nowMs: number },
) {
  const { metadata, includeObject, nowMs } = options;
  const shown = [nameColumn, ...columns, ageColumn(nowMs)].sort((a, b) => a.priority - b.priority);
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: shown.map(({ name, type, priority }) => ({
      name,
      type,
      format: name === 'Name' ? 'name' : '',
      description: name,
      priority,
    })),
    rows: objects.map((object) => ({
      cells: shown.map((column) => column.cell(object)),
      ...(includeObject === 'None' ? {} : { object: includeObject === 'Object' ? object : partialOf(object) }),
    })),
  };
}

const partialOf = ({ metadata }: KubeObject) => ({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata,
});

const nameColumn = textColumn('Name', ({ metadata }) => metadata.name ?? '');

const ageColumn = (nowMs: number): Column => ({
  name: 'Age',
  type: 'string',
  priority: 0,
  cell: ({ metadata }) =>
    metadata.creationTimestamp === undefined ? '<unknown>' : shownAge(Date.parse(metadata.creationTimestamp), nowMs),
});
