import { type ClusterOperationId, parseKubeconfigRequest } from '@corral/contracts';
import type { RequestHandler } from 'express';
import type { KubeconfigService } from '../domain/kubeconfigs.js';
import { bodyOf } from '../http/body.js';
import { callerOf } from '../http/caller.js';
import { clusterNameOf } from './clusters.js';

export function kubeconfigRoutes({ kubeconfigs }: { readonly kubeconfigs: KubeconfigService }) {
  return {
    async issueKubeconfig(req, res) {
      const request = parseKubeconfigRequest(bodyOf(req, { absent: {} }));
      const { kubeconfig, expiresAt } = await kubeconfigs.issue(callerOf(res), clusterNameOf(req), request);
      res.set('Cache-Control', 'no-store');
      res.json({ kubeconfig, expiresAt: expiresAt.toISOString(), scope: 'cluster-admin' });
    },
  } satisfies Partial<Record<ClusterOperationId, RequestHandler>>;
}
