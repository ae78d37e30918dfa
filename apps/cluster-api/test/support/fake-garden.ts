import { randomBytes } from 'node:crypto';
import type { CloudProfile, GardenClient, ShootNodes } from '@corral/garden';
import { aCatalogue } from './a-cluster.js';

/** The garden calls that requests need. All others belong to passes. */
type GardenOfApi = Pick<GardenClient, 'readCloudProfile' | 'adminKubeconfig' | 'viewerKubeconfig'> & {
  readonly nodes: Pick<ShootNodes, 'joinData' | 'endJoin'>;
};

interface FakeGardenState extends GardenOfApi {
  /** The catalogue that it offers. Tests may replace it. */
  catalogue: CloudProfile;
  /** Thrown by every call while set. */
  failure: Error | null;
  readonly issued: { namespace: string; name: string; expirationSeconds: number }[];
  catalogueReads: number;
  /** Valid bootstrap tokens by node name. */
  readonly joinTokens: Map<string, string>;
}

const certificate = '-----BEGIN CERTIFICATE-----\nTUlJQg==\n-----END CERTIFICATE-----\n';

/** Two letters from g on per byte. Short hex strings would occur by chance in texts full of hashes and ids. */
const lettersBeyondHex = (bytes: number): string =>
  randomBytes(bytes)
    .toString('hex')
    .replace(/./g, (digit) => String.fromCharCode('g'.charCodeAt(0) + Number.parseInt(digit, 16)));

export type FakeGarden = FakeGardenState & GardenClient;

/** An in-memory garden with the calls that the API makes. Grants credentials for the requested time. */
export function fakeGarden(): FakeGarden {
  const garden: FakeGardenState = {
    catalogue: aCatalogue(),
    failure: null,
    issued: [],
    catalogueReads: 0,
    joinTokens: new Map(),
    async readCloudProfile() {
      garden.catalogueReads += 1;
      if (garden.failure !== null) throw garden.failure;
      return garden.catalogue;
    },
    nodes: {
      async joinData(_shoot, { nodeName }) {
        if (garden.failure !== null) throw garden.failure;
        const bootstrapToken = `${lettersBeyondHex(3)}.${randomBytes(8).toString('hex')}`;
        garden.joinTokens.set(nodeName, bootstrapToken);
        return {
          server: 'https://api.example.org',
          certificateAuthority: certificate,
          bootstrapToken,
          configSecretName: 'gardener-node-agent-p1-77ac3',
          kubernetesVersion: '1.33.2',
          nodeAgentImage: 'registry.example.org/gardener/node-agent:v1.120.0',
        };
      },
      async endJoin(_shoot, nodeName) {
        garden.joinTokens.delete(nodeName);
      },
    },
    async viewerKubeconfig(request) {
      const { expiresAt } = await garden.adminKubeconfig(request);
      return { kubeconfig: `kubeconfig for reading ${request.name}`, expiresAt };
    },
    async adminKubeconfig(request) {
      if (garden.failure !== null) throw garden.failure;
      garden.issued.push(request);
      const expiresAt = new Date(Date.now() + request.expirationSeconds * 1_000);
      return { kubeconfig: `secret kubeconfig of ${request.name}`, expiresAt };
    },
  };
  return garden as FakeGarden;
}
