import type { Request, Response } from 'express';
import type { Clock } from '../../clock.js';
import type { Servers } from '../../compute/servers.js';
import type { CallCounts } from '../../faults/call-counts.js';
import type { FaultRules } from '../../faults/fault-rules.js';
import type { ProviderNode } from '../../garden/gardenlet/provider-nodes.js';
import type { ProjectTokens } from '../../project-tokens.js';
import { notFound } from '../api-error.js';
import type { Budget } from '../budget.js';
import type { DnsProject, HeldZone } from '../dns-project.js';
import type { Action } from '../model.js';
import { actionBody, actionStatus, type ExtraFields } from './bodies.js';
import { linkHeader, type Page } from './query.js';

export interface DnsApiDeps {
  readonly project: DnsProject;
  readonly servers: Servers;
  /** Servers that the garden has made in a project. */
  readonly nodesIn: (project: string) => ProviderNode[];
  /** Tokens of the project that the zones are in. */
  readonly tokens: readonly string[];
  /** Tokens that are good at all, of this project and of others. */
  readonly projectTokens: ProjectTokens;
  readonly clock: Clock;
  readonly budget: Budget;
  readonly faults: FaultRules;
  readonly calls: CallCounts;
  /** Read anew for every answer: the admin changes it. */
  readonly extraFields: () => ExtraFields;
}

/** A parameter of the path; Express has decoded it once. */
export const pathParam = (req: Request, name: string): string => String(req.params[name] ?? '');

/** @throws ApiError `not_found` */
export function getZone({ project }: DnsApiDeps, req: Request): HeldZone {
  const zone = project.findZone(pathParam(req, 'zone'));
  if (zone === null) throw notFound('zone');
  return zone;
}

export function actionOf({ clock, extraFields }: DnsApiDeps, action: Action) {
  return actionBody(action, actionStatus(action, clock.now()), extraFields());
}

/** The answer to a write: an action that has only begun, however short it is. */
export const startedActionOf = ({ extraFields }: DnsApiDeps, action: Action) =>
  actionBody(action, 'running', extraFields());

export function sendPage<T>(
  req: Request,
  res: Response,
  key: string,
  page: Page<T>,
  render: (item: T) => unknown,
): void {
  res.set('Link', linkHeader(req.originalUrl, page));
  res.json({ [key]: page.items.map(render), meta: { pagination: page.pagination } });
}
