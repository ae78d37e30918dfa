import { type HeldRule, HeldRules } from './held-rules.js';

export type ApiName = 'hcloud' | 'garden' | 'shoot';

export interface FaultMatch {
  /** The API of the requests: `hcloud`, `garden`, or `shoot` for the API servers of Shoots. Default: all. */
  api?: ApiName;
  /** An HTTP method, WATCH or APPLY. Default: every method. */
  method?: string;
  /** Regular expression, matched anywhere in the path, with or without the query. Default: every path. */
  path?: string;
}

/** Effect on a matching request. `delayMs` combines with any other effect; the others exclude each other. */
export interface FaultEffect {
  /** Delay before any other effect, in milliseconds. */
  delayMs?: number;
  /** Answers with this status. */
  status?: number;
  /** Error code of that answer. Default: the usual code of the status. */
  code?: string;
  /** Error message of that answer. */
  message?: string;
  /** Body of that answer, replacing the error format. Text is sent unchanged. */
  body?: unknown;
  /** Default: `application/json`. */
  contentType?: string;
  /** Seconds, for the header `Retry-After` of that answer. */
  retryAfter?: number;
  /** Performs the request before answering with `status`. Default: the request is not performed. */
  perform?: boolean;
  /** Drops the connection before or after performing the request. */
  reset?: 'before' | 'after';
  /** Performs the request, answers the first half of the body, and drops the connection. */
  truncate?: boolean;
  /** Never answers, and does not perform the request. */
  hang?: boolean;
  /**
   * Accepts the write, but its action ends in this error and the write has no effect. Matches mutating requests only.
   * `afterMs`: run time of the action in milliseconds. Default: that of every action.
   */
  actionError?: { code: string; message: string; afterMs?: number };
}

export interface FaultRule {
  match?: FaultMatch;
  /** Number of requests to affect; null for no limit. Default 1. */
  times?: number | null;
  /** Probability for each matching request, 0 to 1. Default 1. */
  probability?: number;
  effect: FaultEffect;
}

export type HeldFault = HeldRule<FaultRule>;

/** Rules for injected request faults. */
export class FaultRules {
  readonly #rules = new HeldRules<FaultRule>(checkRule);

  constructor(private readonly random: () => number = Math.random) {}

  /** @throws Error if a rule does not have the documented form; no rule is added then */
  add = (rules: readonly FaultRule[]): HeldFault[] => this.#rules.add(rules);
  list = (): HeldFault[] => this.#rules.list();
  clear = (): void => this.#rules.clear();

  /**
   * Finds the effect on a request and counts the hit.
   *
   * @param verb the method, WATCH or APPLY
   */
  take(
    method: string,
    pathAndQuery: string,
    { api = 'hcloud', verb = method }: { api?: ApiName; verb?: string } = {},
  ): FaultEffect | null {
    const path = pathAndQuery.split('?', 1)[0] ?? '';
    const fits = ({ match = {}, probability = 1, effect }: FaultRule): boolean => {
      if (match.api !== undefined && match.api !== api) return false;
      if (match.method !== undefined && ![method, verb].includes(match.method.toUpperCase())) return false;
      const pattern = new RegExp(match.path ?? '');
      if (!pattern.test(path) && !pattern.test(pathAndQuery)) return false;
      if (effect.actionError !== undefined && (method === 'GET' || api !== 'hcloud')) return false;
      return probability === 1 || this.random() < probability;
    };
    return this.#rules.take(fits)?.effect ?? null;
  }
}

const effectKeys = [
  'delayMs',
  'status',
  'code',
  'message',
  'body',
  'contentType',
  'retryAfter',
  'perform',
  'reset',
  'truncate',
  'hang',
  'actionError',
];

/** @throws Error also for an invalid regular expression */
function checkRule(rule: FaultRule): void {
  const { effect, match, probability = 1 } = rule;
  if (typeof effect !== 'object' || effect === null) throw new Error('A fault needs an `effect`.');
  const unknown = Object.keys(effect).filter((key) => !effectKeys.includes(key));
  if (unknown.length > 0) throw new Error(`Unknown effect ${unknown.join(', ')}. Known: ${effectKeys.join(', ')}.`);
  if (!(probability >= 0 && probability <= 1)) throw new Error('`probability` is a number from 0 to 1.');
  if (effect.reset !== undefined && effect.reset !== 'before' && effect.reset !== 'after') {
    throw new Error("`reset` is 'before' or 'after'.");
  }
  new RegExp(match?.path ?? '');
}
