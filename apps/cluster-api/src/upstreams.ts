import { outside, type RequestScope } from '@corral/admission';
import type { KubeconfigScope, TokenVerdict } from '@corral/contracts';
import type { GardenClient, ShootNodes } from '@corral/garden';
import type { ProjectClient, Projects } from '@corral/hcloud';

/** The calls that a request makes of garden and provider. It has no place among the requests that are worked on meanwhile. */
export const upstreams = ({
  garden,
  projects,
  verifyToken,
}: {
  readonly garden: GardenClient;
  readonly projects: Projects;
  readonly verifyToken: (token: string) => Promise<TokenVerdict>;
}) => ({
  verifyToken: (request: RequestScope, token: string) => outside(request, () => verifyToken(token)),
  /** Does something in the cloud project of a token. */
  inProject: <T>(request: RequestScope, token: string, work: (project: ProjectClient) => Promise<T>) =>
    outside(request, () => projects.within(token, work)),
  /** Requests a client certificate for a cluster. @throws GardenError */
  kubeconfig: (request: RequestScope, scope: KubeconfigScope, wish: Parameters<GardenClient['adminKubeconfig']>[0]) =>
    outside(request, () => (scope === 'admin' ? garden.adminKubeconfig(wish) : garden.viewerKubeconfig(wish))),
  /** Creates a bootstrap token in a cluster. @throws GardenError */
  joinData: (request: RequestScope, ...call: Parameters<ShootNodes['joinData']>) =>
    outside(request, () => garden.nodes.joinData(...call)),
  endJoin: (request: RequestScope, ...call: Parameters<ShootNodes['endJoin']>) =>
    outside(request, () => garden.nodes.endJoin(...call)),
});
