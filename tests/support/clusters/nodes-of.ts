import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';

/** A client that keeps using the same credential. */
export function clientOf(kubeconfig: string): CoreV1Api {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  return config.makeApiClient(CoreV1Api);
}

/** The names of the nodes that the holder of a kubeconfig sees. */
export async function nodesOf(kubeconfig: string): Promise<string[]> {
  const { items } = await clientOf(kubeconfig).listNode();
  return items.map(({ metadata }) => metadata?.name ?? '').sort();
}
