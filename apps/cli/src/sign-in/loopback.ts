import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CliError } from '../exit-codes.js';

/** The address to which a browser returns with its answer (RFC 8252 section 7.3). */
export interface Loopback {
  readonly redirectUri: string;
  /** The code of the sign-in. @throws CliError when the person refused, or nobody came in time */
  readonly code: Promise<string>;
  readonly close: () => void;
}

const PATH = '/callback';
const WAIT_MS = 300_000;

/** @param state which only the page knows that this command has opened */
export async function listenForCode(state: string, signal: AbortSignal): Promise<Loopback> {
  const { promise: code, resolve, reject } = Promise.withResolvers<string>();
  // It may be closed before anybody waits.
  code.catch(() => undefined);
  const server = createServer(({ method, url = '' }, response) => {
    // The path is not parsed as a URL, which `//` is not: whatever is sent here must not end the command.
    const [path, query = ''] = url.split(/\?(.*)/s);
    if (path !== PATH) return answer(response, 404, 'There is nothing here.');
    if (method !== 'GET') {
      response.setHeader('Allow', 'GET');
      return answer(response, 405, 'This page only takes the answer of a sign-in.');
    }
    const parameters = new URLSearchParams(query);
    const only = (name: string): string | null => {
      const [value, ...others] = parameters.getAll(name);
      return value && others.length === 0 ? value : null;
    };
    const [found, error] = [only('code'), only('error')];
    if (only('state') !== state || (found === null) === (error === null)) {
      return answer(response, 400, 'This is another sign-in. Use its page.');
    }
    // First the browser gets its page: whoever waits for the code may end the process.
    response.once('close', () => {
      if (found === null) reject(new CliError('refused', 'The sign-in was not allowed in the browser.'));
      else resolve(found);
    });
    const what = found === null ? 'The sign-in failed.' : 'You are signed in.';
    answer(response, 200, `${what} You can close this page.`);
  });
  server.requestTimeout = 10_000;
  server.maxConnections = 10;
  await new Promise<void>((listening, failed) => {
    server.once('error', failed);
    server.listen(0, '127.0.0.1', listening);
  });
  const late = setTimeout(
    () => reject(new CliError('timeout', 'Nobody signed in within 5 minutes. Try again.')),
    WAIT_MS,
  );
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  return {
    redirectUri: `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`,
    code,
    close() {
      clearTimeout(late);
      server.close();
      server.closeIdleConnections();
    },
  };
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Cache-Control': 'no-store',
    // The address of the page contains the code.
    'Referrer-Policy': 'no-referrer',
    Connection: 'close',
  });
  response.end(`${text}\n`);
}
