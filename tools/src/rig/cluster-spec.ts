/** Declarations of a cluster with the connection `main`, which differ in the size of their pool. */
export const clusterSpec = (maximum: number) => ({
  connectionRef: 'main',
  region: 'hel1',
  kubernetesVersion: '1.34.3',
  nodePools: [{ name: 'general', machineType: 'cpx31', minimum: 1, maximum }],
});
