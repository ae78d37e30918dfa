export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of many shapes
  readonly json: any;
}

export interface PlainRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body, which is sent as JSON. */
  readonly body?: unknown;
  /** The default is 90,000. */
  readonly timeoutMs?: number;
}

/** Thrown for an answer that the documentation does not describe. */
export class UndocumentedAnswer extends Error {
  override readonly name = 'UndocumentedAnswer';
}

/** @throws Error if there is no answer */
export async function ask(url: string, { method, headers, body, timeoutMs = 90_000 }: PlainRequest): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(timeoutMs),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: parse(text) };
}

interface Route {
  readonly method: string;
  readonly path: string;
}

/** The row of a table of routes for a request. @throws Error if there is none */
export function routeOf<Row extends Route>(routes: readonly Row[], method: string, path: string): Row {
  const [pathname = ''] = path.split('?');
  const fits = (route: Row): boolean =>
    route.method === method.toLowerCase() &&
    new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(pathname);
  // `/zones/actions` is no `/zones/{zone}`.
  const [found] = routes.filter(fits).sort((one, other) => parametersIn(one) - parametersIn(other));
  if (found === undefined) throw new Error(`The API has no ${method} ${path}.`);
  return found;
}

const parametersIn = ({ path }: Route): number => path.split('{').length;

/**
 * The connections of a killed process are closed immediately, so a client that reaches its timeout was waiting for a running one.
 * Errors of `fetch` come from outside of the realm of the tests, where `instanceof` does not work.
 */
export const isTimeout = (error: unknown): boolean => (error as { name?: unknown } | null)?.name === 'TimeoutError';

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
