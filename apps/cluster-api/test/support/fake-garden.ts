import type { CloudProfile } from '@corral/garden';
import type { GardenOfApi } from '../../src/build-cluster-handlers.js';
import { aCatalogue } from './a-cluster.js';

export interface FakeGarden extends GardenOfApi {
  /** What it offers; a test may put another one in its place. */
  catalogue: CloudProfile;
  /** Thrown by every call while it is set. */
  failure: Error | null;
  readonly issued: { namespace: string; name: string; expirationSeconds: number }[];
  catalogueReads: number;
}

/** What the API asks of a garden, without one. Grants credentials for as long as it is asked to. */
export function fakeGarden(): FakeGarden {
  const garden: FakeGarden = {
    catalogue: aCatalogue(),
    failure: null,
    issued: [],
    catalogueReads: 0,
    async readCloudProfile() {
      garden.catalogueReads += 1;
      if (garden.failure !== null) throw garden.failure;
      return garden.catalogue;
    },
    async adminKubeconfig(request) {
      if (garden.failure !== null) throw garden.failure;
      garden.issued.push(request);
      const expiresAt = new Date(Date.now() + request.expirationSeconds * 1_000);
      return { kubeconfig: `secret kubeconfig of ${request.name}`, expiresAt };
    },
  };
  return garden;
}
