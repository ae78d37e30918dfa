import type { Request } from 'express';
import { timestamp } from '../clock.js';
import { invalidLabelIn, type Labels, type LabelTest, parseLabelSelector } from '../labels.js';

/** A refusal in the upstream's error format. `details` is always sent, null if there are none. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details: Readonly<Record<string, unknown>> | null = null,
  ) {
    super(message);
  }
}

/** 422 with one message for one field. The message is also the top-level message. */
export const invalidInput = (name: string, message: string): ApiError =>
  new ApiError(422, 'invalid_input', message, { fields: [{ name, messages: [message] }] });

export const notFound = (what: string): ApiError => new ApiError(404, 'not_found', `${what} not found`);

export const errorBody = (code: string, message: string, details: object | null = null) => ({
  error: { code, message, details },
});

/** Corral is the only caller, and its bodies have the right types: they are taken at their word. */
// biome-ignore lint/suspicious/noExplicitAny: see above
export type Body = Readonly<Record<string, any>>;

/** @throws ApiError `json_error` unless the body is a JSON object */
export function bodyOf({ body }: Request): Body {
  try {
    const parsed: unknown = JSON.parse(String(body));
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed;
  } catch {
    // Refused like any other body that is no object.
  }
  throw new ApiError(400, 'json_error', 'the body must be a JSON object');
}

/** @throws ApiError `invalid_input` */
export function checkedLabels(labels: Labels): Labels {
  const invalid = invalidLabelIn(labels);
  if (invalid !== undefined) throw invalidInput('labels', `invalid label '${invalid}'`);
  return labels;
}

/** All values of a query parameter. The upstream repeats keys for lists, without commas. */
export function queryValues(req: Request, key: string): string[] {
  const value = req.query[key];
  return (Array.isArray(value) ? value : [value]).filter((item): item is string => typeof item === 'string');
}

/** The predicate of the parameter `label_selector`. @throws ApiError `invalid_input` */
export const labelTest = (req: Request): LabelTest =>
  parseLabelSelector(queryValues(req, 'label_selector')[0] ?? '', (part) =>
    invalidInput('label_selector', `invalid label selector '${part}'`),
  );

/** The requested page of a list. `per_page` above the maximum is clamped. */
export function pageOf<T>(
  req: Request,
  key: string,
  all: readonly T[],
  render: (item: T) => unknown = (item) => item,
  perPageMax = 50,
) {
  const page = Number(queryValues(req, 'page')[0] ?? 1);
  const perPage = Math.min(Number(queryValues(req, 'per_page')[0] ?? 25), perPageMax);
  const lastPage = Math.max(1, Math.ceil(all.length / perPage));
  const pagination = {
    page,
    per_page: perPage,
    previous_page: page > 1 ? page - 1 : null,
    next_page: page < lastPage ? page + 1 : null,
    last_page: lastPage,
    total_entries: all.length,
  };
  return { [key]: all.slice((page - 1) * perPage, page * perPage).map(render), meta: { pagination } };
}

export interface ActionError {
  readonly code: string;
  readonly message: string;
}

/** An action of the provider. Its status is not stored: it follows from the clock and `finishesAt`. */
export interface Action {
  readonly id: number;
  readonly command: string;
  /** Milliseconds since 1970, as `finishesAt`. */
  readonly startedAt: number;
  readonly finishesAt: number;
  /** Final error; null for success. */
  readonly error: ActionError | null;
}

/** The response to a write, like that of the upstream, shows the action as running, however short it is. */
export const JUST_STARTED = Number.NEGATIVE_INFINITY;

/** @param nowMs decides whether it is still running */
export function actionBody(
  { id, command, startedAt, finishesAt, error }: Action,
  resource: { id: number; type: 'zone' | 'server' },
  nowMs: number,
) {
  const isRunning = nowMs < finishesAt;
  return {
    id,
    command,
    status: isRunning ? 'running' : error === null ? 'success' : 'error',
    progress: isRunning ? 0 : 100,
    started: timestamp(startedAt),
    finished: isRunning ? null : timestamp(finishesAt),
    resources: [resource],
    error: isRunning ? null : error,
  };
}
