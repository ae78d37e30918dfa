export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of many shapes
  readonly json: any;
}

export interface PlainRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Default: 30,000. */
  readonly timeoutMs?: number;
}

/** Something was answered, but not what the documentation says. */
export class UndocumentedAnswer extends Error {
  override readonly name = 'UndocumentedAnswer';
}

/** @throws Error when no answer comes */
export async function ask(url: string, { method, headers, body, timeoutMs = 30_000 }: PlainRequest): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(timeoutMs),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: parse(text) };
}

/**
 * A process that is killed cuts its connections at once: who waits for longer waits for a living one. Errors of `fetch`
 * are made outside of the tests' realm, where `instanceof` knows nothing of them.
 */
export const isTimeout = (error: unknown): boolean => (error as { name?: unknown } | null)?.name === 'TimeoutError';

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
