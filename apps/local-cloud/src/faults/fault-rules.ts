export type ApiName = 'hcloud' | 'garden' | 'shoot';

export interface FaultMatch {
  /** The API of which requests are meant: `hcloud`, `garden`, or `shoot` for the API servers of Shoots. Default: all. */
  api?: ApiName;
  /** A method, or WATCH, or APPLY. Default: every method. */
  method?: string;
  /** Regular expression, found anywhere in the path or in the path with its query. Default: every path. */
  path?: string;
}

/** What happens to a request that a rule matches. `delayMs` goes with any of the others; the others exclude each other. */
export interface FaultEffect {
  /** Waits this long before anything else happens. */
  delayMs?: number;
  /** Answers with this status. */
  status?: number;
  /** Error code of that answer. Default: the usual one of the status. */
  code?: string;
  /** Error message of that answer. */
  message?: string;
  /** Body of that answer, instead of the error shape; text is sent as it is. */
  body?: unknown;
  /** Default: `application/json`. */
  contentType?: string;
  /** Seconds, for the header `Retry-After` of that answer. */
  retryAfter?: number;
  /** Performs the request before it is answered with `status`. Default: it is not performed. */
  perform?: boolean;
  /** Drops the connection before or after the request is performed. */
  reset?: 'before' | 'after';
  /** Performs the request, answers the first half of the body, and drops the connection. */
  truncate?: boolean;
  /** Never answers, and does not perform the request. */
  hang?: boolean;
  /**
   * Accepts the write, but its action ends in this error and it has no effect. Matches mutating requests only.
   * `afterMs`: how long the action runs until then. Default: as long as all do.
   */
  actionError?: { code: string; message: string; afterMs?: number };
}

export interface FaultRule {
  match?: FaultMatch;
  /** How many requests it is for; null is for ever. Default 1. */
  times?: number | null;
  /** Chance of each matching request, 0 to 1. Default 1. */
  probability?: number;
  effect: FaultEffect;
}

export interface HeldFault extends FaultRule {
  readonly id: number;
  /** Requests it has hit. */
  readonly hits: number;
  /** Requests it is still for; null is for ever. */
  readonly remaining: number | null;
}

/** The rules in force, oldest first: the first that matches a request decides about it. */
export class FaultRules {
  #held: { id: number; rule: FaultRule; path: RegExp | null; hits: number; remaining: number | null }[] = [];
  #nextId = 1;

  constructor(private readonly random: () => number = Math.random) {}

  /** @throws Error when a rule is not of the documented form; no rule is added then */
  add(rules: readonly FaultRule[]): HeldFault[] {
    const added = rules.map((rule) => {
      checkRule(rule);
      const path = rule.match?.path === undefined ? null : new RegExp(rule.match.path);
      return { id: this.#nextId++, rule, path, hits: 0, remaining: rule.times === undefined ? 1 : rule.times };
    });
    this.#held.push(...added);
    return added.map(toHeldFault);
  }

  list(): HeldFault[] {
    return this.#held.map(toHeldFault);
  }

  clear(): void {
    this.#held = [];
  }

  /**
   * Finds what happens to a request, and counts that it happened.
   *
   * @param verb what the method amounts to: the method itself, WATCH or APPLY
   */
  take(
    method: string,
    pathAndQuery: string,
    { api, verb = method }: { api?: ApiName; verb?: string } = {},
  ): FaultEffect | null {
    if (this.#held.length === 0) return null;
    const path = pathAndQuery.split('?', 1)[0] ?? '';
    for (const held of this.#held) {
      const { match = {}, probability = 1, effect } = held.rule;
      if (held.remaining === 0) continue;
      if (match.api !== undefined && match.api !== api) continue;
      if (match.method !== undefined && ![method, verb].includes(match.method.toUpperCase())) continue;
      if (held.path !== null && !held.path.test(path) && !held.path.test(pathAndQuery)) continue;
      if (effect.actionError !== undefined && (method === 'GET' || (api ?? 'hcloud') !== 'hcloud')) continue;
      if (probability < 1 && this.random() >= probability) continue;
      held.hits += 1;
      if (held.remaining !== null) held.remaining -= 1;
      return effect;
    }
    return null;
  }
}

function toHeldFault({
  id,
  rule,
  hits,
  remaining,
}: {
  id: number;
  rule: FaultRule;
  hits: number;
  remaining: number | null;
}) {
  return { ...rule, id, hits, remaining };
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

function checkRule(rule: FaultRule): void {
  const { effect, times = 1, probability = 1 } = rule;
  if (typeof effect !== 'object' || effect === null) throw new Error('A fault needs an `effect`.');
  const unknown = Object.keys(effect).filter((key) => !effectKeys.includes(key));
  if (unknown.length > 0) throw new Error(`Unknown effect ${unknown.join(', ')}. Known: ${effectKeys.join(', ')}.`);
  if (times !== null && !(Number.isInteger(times) && times > 0))
    throw new Error('`times` is a positive integer or null.');
  if (!(probability >= 0 && probability <= 1)) throw new Error('`probability` is a number from 0 to 1.');
  if (effect.reset !== undefined && effect.reset !== 'before' && effect.reset !== 'after') {
    throw new Error("`reset` is 'before' or 'after'.");
  }
}
