import { any, flag, keyedBy, listOf, mapOf, objectSchema, struct, text } from '../../fields/schema.js';
import { kubernetes } from './kubernetes-schema.js';
import { provider } from './provider-schema.js';
import { crossVersionReference } from './reference-schema.js';
import { shootStatus } from './status-schema.js';

const extension = struct({ type: text, providerConfig: any, disabled: flag });
const namedResourceReference = struct({ name: text, resourceRef: crossVersionReference });
const accessRestriction = struct({ name: text, options: mapOf(text) });
const addon = struct({ enabled: flag });
const kubernetesDashboard = struct({ ...addon.fields, authenticationMode: text });
const nginxIngress = struct({
  ...addon.fields,
  loadBalancerSourceRanges: listOf(text),
  config: mapOf(text),
  externalTrafficPolicy: text,
});
const addons = struct({ kubernetesDashboard, nginxIngress });
const dnsIncludeExclude = struct({ include: listOf(text), exclude: listOf(text) });
const dnsProvider = struct({
  domains: dnsIncludeExclude,
  primary: flag,
  secretName: text,
  type: text,
  zones: dnsIncludeExclude,
  credentialsRef: crossVersionReference,
});
const dns = struct({ domain: text, providers: listOf(dnsProvider) });
const hibernationSchedule = struct({ start: text, end: text, location: text });
const hibernation = struct({ enabled: flag, schedules: listOf(hibernationSchedule) });
const networking = struct({
  type: text,
  providerConfig: any,
  pods: text,
  nodes: text,
  services: text,
  ipFamilies: listOf(text),
});
const maintenanceAutoUpdate = struct({ kubernetesVersion: flag, machineImageVersion: flag });
const maintenanceTimeWindow = struct({ begin: text, end: text });
const maintenanceRotationConfig = struct({ rotationPeriod: text });
const maintenanceCredentialsAutoRotation = struct({
  observability: maintenanceRotationConfig,
  sshKeypair: maintenanceRotationConfig,
  etcdEncryptionKey: maintenanceRotationConfig,
});
const maintenanceAutoRotation = struct({ credentials: maintenanceCredentialsAutoRotation });
const maintenance = struct({
  autoUpdate: maintenanceAutoUpdate,
  timeWindow: maintenanceTimeWindow,
  confineSpecUpdateRollout: flag,
  autoRotation: maintenanceAutoRotation,
});
const alerting = struct({ emailReceivers: listOf(text) });
const monitoring = struct({ alerting });
const seedSelector = struct({ matchLabels: mapOf(text), matchExpressions: listOf(any), providerTypes: listOf(text) });
const toleration = struct({ key: text, value: text });
const coreDNSAutoscaling = struct({ mode: text });
const coreDNSRewriting = struct({ commonSuffixes: listOf(text) });
const coreDNS = struct({ autoscaling: coreDNSAutoscaling, rewriting: coreDNSRewriting });
const nodeLocalDNS = struct({
  enabled: flag,
  forceTCPToClusterDNS: flag,
  forceTCPToUpstreamDNS: flag,
  disableForwardToUpstreamDNS: flag,
});
const systemComponents = struct({ coreDNS, nodeLocalDNS });
const failureTolerance = struct({ type: text });
const highAvailability = struct({ failureTolerance });
const controlPlane = struct({ highAvailability, zones: listOf(text) });
const shootSpec = struct({
  addons,
  cloudProfileName: text,
  dns,
  extensions: listOf(extension),
  hibernation,
  kubernetes,
  networking,
  maintenance,
  monitoring,
  provider,
  purpose: text,
  region: text,
  secretBindingName: text,
  seedName: text,
  seedSelector,
  resources: listOf(namedResourceReference),
  tolerations: keyedBy('key', toleration),
  exposureClassName: text,
  systemComponents,
  controlPlane,
  schedulerName: text,
  cloudProfile: struct({ kind: text, name: text }),
  credentialsBindingName: text,
  accessRestrictions: listOf(accessRestriction),
});

/** Fields of a Shoot: `core.gardener.cloud/v1beta1` as Gardener v1.150 serves it. */
export const shootSchema = objectSchema({ spec: shootSpec, status: shootStatus });
