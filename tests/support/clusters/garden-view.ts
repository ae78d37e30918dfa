import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { parse } from 'yaml';
import type { HeldShoot, ShootLife } from '../crashes/garden-judge.js';
import type { LocalCloud } from '../system/local-cloud.js';

/** A fault in what happens on the garden, in addition to the faults of its API. */
interface ShootFault {
  /** Types of flows, such as `Create`. The default is every type. */
  readonly operations?: readonly string[];
  /** The number of attempts it applies to; null means all. The default is 1. */
  readonly times?: number | null;
  readonly effect: { readonly codes?: readonly string[]; readonly message?: string; readonly stuck?: boolean };
}

/** The garden as its operators see it, through its own API and without the product. */
export interface GardenView {
  /** The Shoot as stored, with its status. */
  shoots(): Promise<HeldShoot[]>;
  /** Every Shoot that ever existed. */
  lives(): Promise<ShootLife[]>;
  addShootFaults(...faults: ShootFault[]): Promise<void>;
  clearShootFaults(): Promise<void>;
}

interface Kubeconfig {
  readonly clusters: [{ readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string } }];
  readonly users: [{ readonly user: { readonly token: string } }];
}

export async function gardenView(cloud: Pick<LocalCloud, 'admin' | 'gardenKubeconfigPath'>): Promise<GardenView> {
  const { clusters, users } = parse(await readFile(cloud.gardenKubeconfigPath, 'utf8')) as Kubeconfig;
  const { server, 'certificate-authority-data': authority } = clusters[0].cluster;
  const agent = new Agent({ ca: Buffer.from(authority, 'base64') });
  const read = <T>(path: string) => readJson<T>(`${server}${path}`, agent, users[0].user.token);
  return {
    shoots: async () => (await read<{ items: HeldShoot[] }>('/apis/core.gardener.cloud/v1beta1/shoots')).items,
    lives: async () => (await cloud.admin<{ shoots: ShootLife[] }>('GET', '/garden/shoot-history')).shoots,
    addShootFaults: (...faults) => cloud.admin('POST', '/garden/shoot-faults', faults),
    clearShootFaults: () => cloud.admin('DELETE', '/garden/shoot-faults'),
  };
}

function readJson<T>(url: string, agent: Agent, token: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () => {
        if (response.statusCode === 200) resolve(JSON.parse(text) as T);
        else reject(new Error(`The garden answered ${response.statusCode}: ${text}`));
      });
    });
    sent.once('error', reject).end();
  });
}
