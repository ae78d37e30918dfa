import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { runCli } from '../../src/run-cli.js';

export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** Whether a person can be asked. */
  readonly terminal?: boolean;
  /** What the person types. */
  readonly input?: string;
}

/** Runs a command to its end in this process. */
export async function runCorral(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const { env = {}, terminal = false, input = '' } = options;
  const [out, err, stdin] = [new PassThrough(), new PassThrough(), Readable.from([input])];
  const code = await runCli(args, {
    env,
    stdin: Object.assign(stdin, { isTTY: terminal }),
    out,
    err: Object.assign(err, { isTTY: terminal }),
    signal: new AbortController().signal,
    outputClosed: new AbortController().signal,
    sleep: async () => undefined,
    run: async () => null,
    openBrowser: async () => undefined,
  });
  return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
}

export interface FakeService {
  readonly url: string;
  readonly close: () => Promise<void>;
}

/** A service on this machine. @param answer is given the whole body of the request */
export async function startService(
  answer: (request: IncomingMessage, body: string, response: ServerResponse) => void,
): Promise<FakeService> {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    answer(request, body, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

export const sendJson = (response: ServerResponse, status: number, body: object): void =>
  void response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));

export interface Folder {
  readonly path: string;
  readonly file: (name: string) => string;
  readonly remove: () => Promise<void>;
}

export async function temporaryFolder(): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), 'corral-cli-'));
  return { path, file: (name) => join(path, name), remove: () => rm(path, { recursive: true, force: true }) };
}
