import {
  type ClusterOperationId,
  type ConnectionPhase,
  isConnectionRef,
  parseConnectionPost,
  parseConnectionPut,
  textRules,
} from '@corral/contracts';
import { queryOf } from '@corral/http-api';
import type { Request, RequestHandler, Response } from 'express';
import { callerOf } from '../http/caller.js';
import {
  announceOperation,
  bodyOf,
  checkNamed,
  idempotencyKeyOf,
  preconditionsOf,
  purposeOf,
  sendTagged,
} from '../http/request.js';
import { operationBody, operationUrl } from '../operations/view.js';
import { badNameInPath, found, notFound } from '../problem.js';
import type { Services } from '../services.js';
import { createConnection, declareConnection, previewConnection } from './declare.js';
import { deleteConnection } from './delete.js';
import { findConnection, listConnections } from './store.js';
import { verifyConnection } from './verify.js';
import { type ConnectionRecord, connectionBody, connectionTagOf } from './view.js';

/** The handlers for connections to cloud projects. */
export function connectionRoutes(services: Services) {
  const { prisma, config } = services;
  const send = (res: Response, connection: ConnectionRecord): void => {
    const body = connectionBody(callerOf(res), connection);
    res.set('ETag', body.metadata.etag).json(body);
  };
  const sendDryRun = (res: Response, connection: ConnectionRecord): void => {
    res.json({ dryRun: true, resource: connectionBody(callerOf(res), connection) });
  };
  const sendCreated = (res: Response, connection: ConnectionRecord): void => {
    res.location(`/api/v1/teams/${callerOf(res).team.slug}/connections/${connection.ref}/`);
    send(res.status(201), connection);
  };
  return {
    /** The documented shape is an array with one page, which contains all items. */
    async listConnections(req, res) {
      const caller = callerOf(res);
      const phase = queryOf(req).get('phase') as ConnectionPhase | null;
      const items = await listConnections(prisma, caller, phase);
      res.json([{ items: items.map((connection) => connectionBody(caller, connection)) }]);
    },

    async getConnection(req, res) {
      const caller = callerOf(res);
      const ref = refOf(req);
      const connection = found(isConnectionRef(ref) ? await findConnection(prisma, caller, ref) : null);
      sendTagged(req, res, connectionTagOf(connection), connectionBody(caller, connection));
    },

    async createConnection(req, res) {
      const caller = callerOf(res);
      const { spec } = parseConnectionPost(bodyOf(req));
      if (purposeOf(req) === 'dryRun') {
        return sendDryRun(res, await previewConnection(services, caller, null, spec));
      }
      const connection = await createConnection(services, caller, spec, idempotencyKeyOf(req));
      sendCreated(res, connection);
    },

    async putConnection(req, res) {
      const caller = callerOf(res);
      const ref = refOf(req);
      const { spec, metadata } = parseConnectionPut(bodyOf(req));
      if (!isConnectionRef(ref)) throw badNameInPath('connection', textRules.ref);
      checkNamed('ref', metadata?.ref, ref);
      if (purposeOf(req) === 'dryRun') {
        return sendDryRun(res, await previewConnection(services, caller, ref, spec, preconditionsOf(req)));
      }
      const { connection, isNew } = await declareConnection(services, caller, ref, spec, preconditionsOf(req));
      if (isNew) sendCreated(res, connection);
      else send(res, connection);
    },

    async verifyConnection(req, res) {
      const caller = callerOf(res);
      const ref = refOf(req);
      if (!isConnectionRef(ref)) throw notFound();
      const { kind, connection, operation } = await verifyConnection(services, caller, ref, idempotencyKeyOf(req));
      const context = { team: caller.team, publicUrl: config.publicUrl() };
      if (operation !== null) res.set('Operation-Location', operationUrl(operation, context));
      if (kind === 'under way') return send(res, connection);
      const resource = connectionBody(caller, connection);
      announceOperation(res, operation, context);
      res.status(202).set('ETag', resource.metadata.etag);
      res.json({ operation: operationBody(operation, context), resource });
    },

    async deleteConnection(req, res) {
      const caller = callerOf(res);
      const ref = refOf(req);
      if (!isConnectionRef(ref)) throw notFound();
      await deleteConnection(services, caller, ref, preconditionsOf(req));
      res.status(204).end();
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}

const refOf = (req: Request): string => req.params.ref as string;
