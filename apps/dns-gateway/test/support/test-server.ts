import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Express } from 'express';

/** A plain server around an app, with the gateway's answers to what is no HTTP. */
export function buildTestServer(app: Express, onClientError: (error: Error, socket: Socket) => void): Server {
  const server = createServer(app);
  server.on('clientError', (error, socket) => onClientError(error, socket as Socket));
  return server;
}
