import {
  any,
  flag,
  integer,
  integerOrText,
  keyedBy,
  listOf,
  mapOf,
  number,
  struct,
  text,
} from '../../fields/schema.js';
import { objectReference } from './reference-schema.js';

const controlPlaneAutoscaling = struct({ minAllowed: mapOf(integerOrText) });
const clusterAutoscaler = struct({
  scaleDownDelayAfterAdd: text,
  scaleDownDelayAfterDelete: text,
  scaleDownDelayAfterFailure: text,
  scaleDownUnneededTime: text,
  scaleDownUtilizationThreshold: number,
  scanInterval: text,
  expander: text,
  maxNodeProvisionTime: text,
  maxGracefulTerminationSeconds: integer,
  ignoreTaints: listOf(text),
  newPodScaleUpDelay: text,
  maxEmptyBulkDelete: integer,
  ignoreDaemonsetsUtilization: flag,
  verbosity: integer,
  startupTaints: listOf(text),
  statusTaints: listOf(text),
  maxScaleDownParallelism: integer,
  maxDrainParallelism: integer,
  initialNodeGroupBackoffDuration: text,
  maxNodeGroupBackoffDuration: text,
  nodeGroupBackoffResetTimeout: text,
  emitPerNodeGroupMetrics: flag,
  maxBinpackingTime: text,
  autoscaling: controlPlaneAutoscaling,
});
const kubernetesConfig = struct({ featureGates: mapOf(flag) });
const admissionPlugin = struct({ name: text, config: any, disabled: flag, kubeconfigSecretName: text });
const auditPolicy = struct({ configMapRef: objectReference });
const auditConfig = struct({ auditPolicy });
const serviceAccountConfig = struct({
  issuer: text,
  extendTokenExpiration: flag,
  maxTokenExpiration: text,
  acceptedIssuers: listOf(text),
});
const resourceWatchCacheSize = struct({ apiGroup: text, resource: text, size: integer });
const watchCacheSizes = struct({ default: integer, resources: listOf(resourceWatchCacheSize) });
const apiServerRequests = struct({ maxNonMutatingInflight: integer, maxMutatingInflight: integer });
const apiServerLogging = struct({ verbosity: integer, httpAccessVerbosity: integer });
const encryptionProvider = struct({ type: text });
const encryptionConfig = struct({ resources: listOf(text), provider: encryptionProvider });
const structuredAuthentication = struct({ configMapName: text });
const authorizerKubeconfigReference = struct({ authorizerName: text, secretName: text });
const structuredAuthorization = struct({ configMapName: text, kubeconfigs: listOf(authorizerKubeconfigReference) });
const kubeAPIServerConfig = struct({
  ...kubernetesConfig.fields,
  admissionPlugins: keyedBy('name', admissionPlugin),
  apiAudiences: listOf(text),
  auditConfig,
  runtimeConfig: mapOf(flag),
  serviceAccountConfig,
  watchCacheSizes,
  requests: apiServerRequests,
  enableAnonymousAuthentication: flag,
  eventTTL: text,
  logging: apiServerLogging,
  defaultNotReadyTolerationSeconds: integer,
  defaultUnreachableTolerationSeconds: integer,
  encryptionConfig,
  structuredAuthentication,
  structuredAuthorization,
  autoscaling: controlPlaneAutoscaling,
  tlsMinVersion: text,
});
const horizontalPodAutoscalerConfig = struct({
  cpuInitializationPeriod: text,
  downscaleStabilization: text,
  initialReadinessDelay: text,
  syncPeriod: text,
  tolerance: number,
});
const kubeControllerManagerConfig = struct({
  ...kubernetesConfig.fields,
  horizontalPodAutoscaler: horizontalPodAutoscalerConfig,
  nodeCIDRMaskSize: integer,
  podEvictionTimeout: text,
  nodeMonitorGracePeriod: text,
  nodeCIDRMaskSizeIPv6: integer,
});
const kubeSchedulerConfig = struct({ ...kubernetesConfig.fields, kubeMaxPDVols: text, profile: text });
const kubeProxyConfig = struct({ ...kubernetesConfig.fields, mode: text, enabled: flag });
const kubeletConfigEviction = struct({
  memoryAvailable: text,
  imageFSAvailable: text,
  imageFSInodesFree: text,
  nodeFSAvailable: text,
  nodeFSInodesFree: text,
});
const kubeletConfigEvictionMinimumReclaim = struct({
  memoryAvailable: text,
  imageFSAvailable: text,
  imageFSInodesFree: text,
  nodeFSAvailable: text,
  nodeFSInodesFree: text,
});
const kubeletConfigEvictionSoftGracePeriod = struct({
  memoryAvailable: text,
  imageFSAvailable: text,
  imageFSInodesFree: text,
  nodeFSAvailable: text,
  nodeFSInodesFree: text,
});
const kubeletConfigReserved = struct({ cpu: text, memory: text, ephemeralStorage: text, pid: text });
const memorySwapConfiguration = struct({ swapBehavior: text });
export const kubeletConfig = struct({
  ...kubernetesConfig.fields,
  cpuCFSQuota: flag,
  cpuManagerPolicy: text,
  evictionHard: kubeletConfigEviction,
  evictionMaxPodGracePeriod: integer,
  evictionMinimumReclaim: kubeletConfigEvictionMinimumReclaim,
  evictionPressureTransitionPeriod: text,
  evictionSoft: kubeletConfigEviction,
  evictionSoftGracePeriod: kubeletConfigEvictionSoftGracePeriod,
  maxPods: integer,
  podPidsLimit: integer,
  failSwapOn: flag,
  kubeReserved: kubeletConfigReserved,
  imageGCHighThresholdPercent: integer,
  imageGCLowThresholdPercent: integer,
  serializeImagePulls: flag,
  registryPullQPS: integer,
  registryBurst: integer,
  seccompDefault: flag,
  containerLogMaxSize: text,
  containerLogMaxFiles: integer,
  protectKernelDefaults: flag,
  streamingConnectionIdleTimeout: text,
  memorySwap: memorySwapConfiguration,
  maxParallelImagePulls: integer,
  imageMinimumGCAge: text,
  imageMaximumGCAge: text,
  singleProcessOOMKill: flag,
  imagePullCredentialsVerificationPolicy: text,
  preloadedImagesVerificationAllowlist: listOf(text),
});
const verticalPodAutoscaler = struct({
  enabled: flag,
  evictAfterOOMThreshold: text,
  evictionRateBurst: integer,
  evictionRateLimit: number,
  evictionTolerance: number,
  recommendationMarginFraction: number,
  updaterInterval: text,
  recommenderInterval: text,
  targetCPUPercentile: number,
  recommendationLowerBoundCPUPercentile: number,
  recommendationUpperBoundCPUPercentile: number,
  targetMemoryPercentile: number,
  recommendationLowerBoundMemoryPercentile: number,
  recommendationUpperBoundMemoryPercentile: number,
  cpuHistogramDecayHalfLife: text,
  memoryHistogramDecayHalfLife: text,
  memoryAggregationInterval: text,
  memoryAggregationIntervalCount: integer,
  featureGates: mapOf(flag),
  maxAllowed: mapOf(integerOrText),
  recommenderUpdateWorkerCount: integer,
});
const etcdConfig = struct({ autoscaling: controlPlaneAutoscaling });
const etcd = struct({ main: etcdConfig, events: etcdConfig });
export const kubernetes = struct({
  clusterAutoscaler,
  kubeAPIServer: kubeAPIServerConfig,
  kubeControllerManager: kubeControllerManagerConfig,
  kubeScheduler: kubeSchedulerConfig,
  kubeProxy: kubeProxyConfig,
  kubelet: kubeletConfig,
  version: text,
  verticalPodAutoscaler,
  etcd,
});
