import {
  type ClusterOperationId,
  clusterLimits,
  parseDeviceDecision,
  parseDevicePost,
  shownUserCode,
  userCodeOf,
} from '@corral/contracts';
import type { Request, RequestHandler, Response } from 'express';
import { recordAudit } from '../audit/record-audit.js';
import { requestContextOf, signedInOf } from '../http/caller.js';
import { oauthFormOf } from '../http/form.js';
import { bodyOf } from '../http/request.js';
import { found, Problem } from '../problem.js';
import type { Services } from '../services.js';
import { nameOfProgram } from './authorization.js';

/**
 * Sign-in of machines without a browser (RFC 8628). They poll at the token endpoint.
 *
 * @param forgiveCaller gives back what a user code was charged, because it is not a wrong one
 */
export function deviceRoutes({ config, prisma, devices }: Services, forgiveCaller: (res: Response) => void) {
  /** @throws Problem `not_found` */
  const codeIn = ({ params }: Request): string => found(userCodeOf(params.user_code as string));

  return {
    async startDeviceSignIn(req, res) {
      const consoleUrl = config.consoleUrl();
      if (consoleUrl === null)
        throw new Problem('not_found', 'There is no console here, on which people confirm a code.');
      const name = nameOfProgram({ device: oauthFormOf(req, parseDevicePost).device ?? null });
      const userAgent = req.headers['user-agent'] ?? '';
      const { deviceCode, userCode } = await devices.begin({ name, address: req.ip ?? '', userAgent });
      const page = `${consoleUrl}/device`;
      const shown = shownUserCode(userCode);
      res.json({
        device_code: deviceCode,
        user_code: shown,
        verification_uri: page,
        verification_uri_complete: `${page}?${new URLSearchParams({ user_code: shown })}`,
        expires_in: clusterLimits.deviceCodeSeconds,
        interval: clusterLimits.devicePollSeconds,
      });
    },

    async getDeviceSignIn(req, res) {
      const { name, address, userAgent, createdAt, expiresAt } = found(await devices.find(codeIn(req)));
      forgiveCaller(res);
      res.json({ name, address, userAgent, createdAt: createdAt.toISOString(), expiresAt: expiresAt.toISOString() });
    },

    async decideDeviceSignIn(req, res) {
      const isAllowed = parseDeviceDecision(bodyOf(req)).decision === 'allow';
      const code = codeIn(req);
      const { id: sessionId, userId, memberships } = signedInOf(res);
      const { requestId } = requestContextOf(res);
      await prisma.$transaction(async (tx) => {
        const decided = found(await devices.decide(tx, code, isAllowed ? sessionId : null));
        const { id, name, address } = decided;
        const change = {
          action: isAllowed ? 'session.allow_device' : 'session.refuse_device',
          target: { kind: 'Session', id, name },
          detail: { address },
        } as const;
        // The session reaches all teams of the person.
        for (const { teamId } of memberships)
          await recordAudit(tx, { userId, team: { id: teamId }, requestId }, change);
      });
      forgiveCaller(res);
      res.status(204).end();
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}
