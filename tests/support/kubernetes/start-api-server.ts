import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Missing } from '@corral/testing';
import { startKubeApiServer } from '@corral/testing/kube-api-server';
import { builtFile } from '../system/program.js';

/** An API server of Kubernetes, and how a client with all rights reaches it. */
export interface ApiServer {
  readonly access: { readonly url: string; readonly token: string; readonly authority: string };
  stop(): Promise<void>;
}

/** The program that `npm run conformance` has built. */
function findApiServer(): string | null {
  const cache = builtFile('node_modules/.cache/corral-conformance');
  const built = existsSync(cache) ? readdirSync(cache).find((name) => /^kube-apiserver-\w+$/.test(name)) : undefined;
  return built === undefined ? null : join(cache, built);
}

/** Null if there is one. */
export const missingApiServer = (): Missing | null =>
  findApiServer() === null
    ? { what: 'kube-apiserver', how: 'run `npm run conformance -- garden`, which builds it' }
    : null;

/** @param folder for its files @throws Error without the program, or without etcd */
export async function startApiServer(folder: string): Promise<ApiServer> {
  const program = findApiServer();
  if (program === null) throw new Error('There is no kube-apiserver.');
  const token = randomBytes(16).toString('hex');
  const callers = [`${token},admin,admin,system:masters`];
  const { url, authority, stop } = await startKubeApiServer({ folder, etcd: 'etcd', program, callers });
  return { access: { url, token, authority }, stop };
}
