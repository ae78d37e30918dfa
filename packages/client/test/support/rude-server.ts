import type { Socket } from 'node:net';
import { type RawServer, rawAnswer, startRawServer } from '@corral/testing';
import { afterAll } from '@jest/globals';

/** What the server does with the next request; the last entry stays. */
export type Behaviour = (socket: Socket, request: string) => void;

export interface RudeServer extends RawServer {
  /** Starts a new script, and forgets the requests so far. */
  readonly script: (...behaviours: Behaviour[]) => void;
}

/** A server that follows a script, request by request. It ends with the test file. */
export async function startRudeServer(): Promise<RudeServer> {
  let next: Behaviour[] = [];
  const server = await startRawServer((socket, request) => {
    const [behave = hangUp, ...rest] = next;
    if (rest.length > 0) next = rest;
    behave(socket, request);
  });
  afterAll(() => server.close());
  return {
    ...server,
    script(...behaviours) {
      next = behaviours;
      server.requests.length = 0;
    },
  };
}

export const answer =
  (status: string, body: object | string, headers: readonly string[] = []): Behaviour =>
  (socket) =>
    void socket.write(rawAnswer(status, body, headers));

export const problem = (status: string, code: string, headers: readonly string[] = []): Behaviour =>
  answer(
    status,
    { type: 'about:blank', status: Number(status.slice(0, 3)), code, detail: `Refused: ${code}.` },
    headers,
  );

export const hangUp: Behaviour = (socket) => void socket.destroy();
/** Never answers. */
export const stall: Behaviour = () => undefined;
/** Announces more than it sends. */
export const truncate: Behaviour = (socket) =>
  void socket.end('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"id":');
/** Sends the beginning of an answer, and then nothing. */
export const stallInBody: Behaviour = (socket) =>
  void socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"id":');
/** An answer in pieces, without a length; open until the script or the client ends it. */
export const stream =
  (...pieces: string[]): Behaviour =>
  (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n');
    for (const piece of pieces) socket.write(`${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n`);
  };
/** The same, and then the connection breaks. */
export const brokenStream =
  (...pieces: string[]): Behaviour =>
  (socket, request) => {
    stream(...pieces)(socket, request);
    // What was written is sent before the end.
    socket.end();
  };
/** The same, and ends as announced. */
export const endedStream =
  (...pieces: string[]): Behaviour =>
  (socket, request) => {
    stream(...pieces)(socket, request);
    socket.end('0\r\n\r\n');
  };

/** A header of a recorded request; null without it. */
export function headerOf(request: string | undefined, name: string): string | null {
  const line = request?.split('\r\n').find((each) => each.toLowerCase().startsWith(`${name.toLowerCase()}:`));
  return line === undefined ? null : line.slice(name.length + 1).trim();
}

export const linesOfRequests = (server: RudeServer): string[] =>
  server.requests.map((request) => request.split(' HTTP/1.1')[0] as string);
