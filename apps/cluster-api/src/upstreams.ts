import { outside, type RequestScope } from '@corral/admission';
import type { KubeconfigScope, TokenVerdict } from '@corral/contracts';
import type { GardenClient, JoinData, ShootNodes } from '@corral/garden';
import type { ProjectClient, Projects } from '@corral/hcloud';

/** The calls that a request makes of garden and provider. It has no place among the requests that are worked on meanwhile. */
export interface Upstreams {
  verifyToken(request: RequestScope, token: string): Promise<TokenVerdict>;
  /** Does something in the cloud project of a token. */
  inProject<T>(request: RequestScope, token: string, work: (project: ProjectClient) => Promise<T>): Promise<T>;
  /** Requests a client certificate for a cluster. @throws GardenError */
  kubeconfig(
    request: RequestScope,
    scope: KubeconfigScope,
    wish: Parameters<GardenClient['adminKubeconfig']>[0],
  ): ReturnType<GardenClient['adminKubeconfig']>;
  /** Creates a bootstrap token in a cluster. @throws GardenError */
  joinData(request: RequestScope, ...call: Parameters<ShootNodes['joinData']>): Promise<JoinData>;
  endJoin(request: RequestScope, ...call: Parameters<ShootNodes['endJoin']>): Promise<void>;
}

export const upstreams = ({
  garden,
  projects,
  verifyToken,
}: {
  readonly garden: GardenClient;
  readonly projects: Projects;
  readonly verifyToken: (token: string) => Promise<TokenVerdict>;
}): Upstreams => ({
  verifyToken: (request, token) => outside(request, () => verifyToken(token)),
  inProject: (request, token, work) => outside(request, () => projects.within(token, work)),
  kubeconfig: (request, scope, wish) =>
    outside(request, () => (scope === 'admin' ? garden.adminKubeconfig(wish) : garden.viewerKubeconfig(wish))),
  joinData: (request, ...call) => outside(request, () => garden.nodes.joinData(...call)),
  endJoin: (request, ...call) => outside(request, () => garden.nodes.endJoin(...call)),
});
