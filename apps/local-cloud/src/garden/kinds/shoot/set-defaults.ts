import type { Fields } from '../../kube/object.js';
import { blankStatus, isWorkerless, type Shoot, type Worker } from './shoot.js';

/** Puts what is missing; an object that is there keeps its own fields. */
function fill(target: Fields, defaults: Fields): void {
  for (const [field, value] of Object.entries(defaults)) target[field] ??= value;
}

const child = (parent: Fields, field: string): Fields => {
  parent[field] ??= {};
  return parent[field] as Fields;
};

/**
 * Fills in what the API type itself defaults, whoever writes (`pkg/apis/core/v1beta1/defaults_shoot.go`).
 *
 * @param random 0 to below 1: chooses the maintenance window
 */
export function setShootDefaults(shoot: Shoot, random: () => number = Math.random): void {
  shoot.spec ??= {} as Shoot['spec'];
  const { spec } = shoot;
  spec.kubernetes ??= { version: '' };
  spec.kubernetes.version ??= '';
  spec.provider ??= { type: '' };
  spec.provider.type ??= '';
  spec.region ??= '';
  spec.purpose ??= 'evaluation';
  spec.schedulerName ??= 'default-scheduler';
  spec.networking ??= {};
  if ((spec.networking.ipFamilies ?? []).length === 0) spec.networking.ipFamilies = ['IPv4'];
  spec.maintenance ??= {};
  spec.maintenance.autoUpdate ??= { kubernetesVersion: true };
  spec.maintenance.autoUpdate.kubernetesVersion ??= false;
  spec.maintenance.timeWindow ??= randomWindow(random);
  shoot.status ??= blankStatus();
  setApiServerDefaults(child(spec.kubernetes, 'kubeAPIServer'));
  if (spec.kubernetes.clusterAutoscaler !== undefined) {
    setAutoscalerDefaults(spec.kubernetes.clusterAutoscaler as Fields);
  }
  if (!isWorkerless(spec)) setWorkerShootDefaults(shoot);
}

function setWorkerShootDefaults({ spec }: Shoot): void {
  const { kubernetes, provider, networking, maintenance } = spec;
  fill(kubernetes.kubeAPIServer as Fields, {
    defaultNotReadyTolerationSeconds: 300,
    defaultUnreachableTolerationSeconds: 300,
  });
  fill(child(kubernetes, 'kubeControllerManager'), {
    nodeCIDRMaskSize: defaultNodeMask(provider.workers ?? []),
    nodeMonitorGracePeriod: '40s',
  });
  fill(child(kubernetes, 'kubeScheduler'), { profile: 'balanced' });
  fill(child(kubernetes, 'kubeProxy'), { mode: 'IPTables', enabled: true });
  fill(child(kubernetes, 'kubelet'), {
    failSwapOn: true,
    imageMinimumGCAge: '2m0s',
    imageMaximumGCAge: '0s',
    imageGCHighThresholdPercent: 50,
    imageGCLowThresholdPercent: 40,
    serializeImagePulls: true,
  });
  if (maintenance?.autoUpdate !== undefined) maintenance.autoUpdate.machineImageVersion ??= true;
  fill(child(provider as unknown as Fields, 'workersSettings'), { sshAccess: { enabled: true } });
  const autoscaling = child(child(child(spec, 'systemComponents'), 'coreDNS'), 'autoscaling');
  fill(autoscaling, { mode: 'horizontal' });
  for (const worker of provider.workers ?? []) setPoolDefaults(worker);
  if (networking !== undefined) networking.ipFamilies ??= ['IPv4'];
}

function setPoolDefaults(worker: Worker): void {
  worker.minimum ??= 0;
  worker.maximum ??= 0;
  worker.machine ??= { type: '' };
  worker.machine.type ??= '';
  worker.cri ??= { name: 'containerd' };
  worker.updateStrategy ??= 'AutoRollingUpdate';
  worker.maxSurge ??= 1;
  worker.maxUnavailable ??= 0;
  worker.systemComponents ??= { allow: true };
}

const setApiServerDefaults = (config: Fields): void => {
  fill(config, { eventTTL: '1h0m0s' });
  fill(child(config, 'requests'), { maxNonMutatingInflight: 400, maxMutatingInflight: 200 });
  fill(child(config, 'logging'), { verbosity: 2 });
  fill(child(child(config, 'encryptionConfig'), 'provider'), { type: 'aescbc' });
};

const setAutoscalerDefaults = (config: Fields): void =>
  fill(config, {
    scaleDownDelayAfterAdd: '1h0m0s',
    scaleDownDelayAfterDelete: '0s',
    scaleDownDelayAfterFailure: '3m0s',
    scaleDownUnneededTime: '30m0s',
    scaleDownUtilizationThreshold: 0.5,
    scanInterval: '10s',
    expander: 'least-waste',
    maxNodeProvisionTime: '20m0s',
    maxGracefulTerminationSeconds: 600,
    ignoreDaemonsetsUtilization: false,
    verbosity: 2,
    newPodScaleUpDelay: '0s',
    maxScaleDownParallelism: 10,
    maxDrainParallelism: 1,
    initialNodeGroupBackoffDuration: '5m0s',
    maxNodeGroupBackoffDuration: '30m0s',
    nodeGroupBackoffResetTimeout: '3h0m0s',
  });

/** A /24 per node, wider when a kubelet may run more pods than fit into it. */
function defaultNodeMask(workers: readonly Worker[]): number {
  const maxPods = Math.max(110, ...workers.map(({ kubernetes }) => Number(kubernetes?.kubelet?.maxPods ?? 0)));
  return maxPods > 250 ? 23 : 24;
}

/** An hour that begins at a full hour of the night, UTC. */
function randomWindow(random: () => number): { begin: string; end: string } {
  const hour = (22 + Math.floor(random() * 8)) % 24;
  const at = (value: number): string => `${String(value % 24).padStart(2, '0')}0000+0000`;
  return { begin: at(hour), end: at(hour + 1) };
}
