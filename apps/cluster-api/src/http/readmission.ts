import { type ClusterOperationId, type ClusterRoute, clusterRoutes } from '@corral/contracts';
import type { Request, RequestHandler, Response } from 'express';
import { admit, type Credentials, callerLoader } from './caller.js';

/**
 * Loads the caller anew and checks the access, after a request has waited.
 *
 * @throws what `admit` throws, in the function that it returns
 */
export function readmission(credentials: Credentials, operationId: ClusterOperationId) {
  const rows: readonly ClusterRoute[] = clusterRoutes;
  const load = callerLoader(credentials);
  const admitted = admit(rows.find((row) => row.operationId === operationId) as ClusterRoute);
  return async (req: Request, res: Response): Promise<void> => {
    await passing(load, req, res);
    await passing(admitted, req, res);
  };
}

/** Runs a handler that passes the request on. @throws what it throws */
async function passing(handler: RequestHandler, req: Request, res: Response): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const passed = (error?: unknown): void => (error === undefined ? resolve() : reject(error));
    Promise.resolve()
      .then(() => handler(req, res, passed))
      .catch(reject);
  });
}
