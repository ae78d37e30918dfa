import { personOf } from '@corral/auth';
import {
  type ClusterAnswerBody,
  type ClusterOperationId,
  clusterLimits,
  parseKubeconfigRequest,
} from '@corral/contracts';
import type { RequestHandler } from 'express';
import { clusterNameOf } from '../clusters/routes.js';
import { callerOf } from '../http/caller.js';
import { teamConcurrencyLimit } from '../http/limits.js';
import { bodyOf, preconditionsOf } from '../http/request.js';
import { found } from '../problem.js';
import type { Services } from '../services.js';
import { issueKubeconfig } from './issue.js';
import { listKubeconfigIssues } from './store.js';

/** The handlers for kubeconfigs. */
export function kubeconfigRoutes(services: Services) {
  const { kubeconfigsPerTeamAtOnce: perTeam, kubeconfigsPerProcessAtOnce: perProcess } = clusterLimits;
  const ofOthers = teamConcurrencyLimit({ perTeam, perProcess }, 'Kubeconfig requests');
  // Administrators are counted apart, so that others never keep them from a cluster.
  const ofAdministrators = teamConcurrencyLimit({ perTeam, perProcess }, 'Administrators’ kubeconfig requests');
  return {
    async issueKubeconfig(req, res) {
      const caller = callerOf(res);
      const request = parseKubeconfigRequest(bodyOf(req, { absent: {} }));
      const issuing = caller.role === 'admin' ? ofAdministrators : ofOthers;
      const { kubeconfig, expiresAt } = await issuing(caller.team.id, () =>
        issueKubeconfig(services, caller, clusterNameOf(req), request, preconditionsOf(req)),
      );
      res.set('Cache-Control', 'no-store');
      res.json({ kubeconfig, expiresAt: expiresAt.toISOString(), scope: `cluster-${request.scope}` });
    },
    async listKubeconfigIssues(req, res) {
      const most = clusterLimits.kubeconfigIssuesShown;
      const issues = found(await listKubeconfigIssues(services.prisma, callerOf(res), clusterNameOf(req), most));
      res.json({
        items: issues.map(({ issuedTo: user, createdAt, expiresAt, ...issue }) => ({
          issuedTo: user && personOf(user),
          createdAt: createdAt.toISOString(),
          expiresAt: expiresAt?.toISOString() ?? null,
          ...issue,
        })),
      } satisfies ClusterAnswerBody<'kubeconfigIssueList'>);
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}
