import type { ClusterNetwork } from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';
import { Address4 } from 'ip-address';
import type { ClusterQuotas } from '../../app-config.js';
import { checkAll, invalidField, type Problem, unsupportedByGarden } from '../../problem.js';

/** Prefix length of the pod range of one node. The garden fixes it when the cluster is created. */
const NODE_MASK = 24;
/**
 * Longest prefix of a service range: 1,022 services. The range can never grow, and a cluster of a hundred nodes soon
 * fills a /24 with system services and load balancers.
 */
const SERVICE_MASK_MAX = 22;
/** Shortest prefix of a service range: kube-apiserver accepts at most 20 bits of service addresses. */
const SERVICE_MASK_MIN = 12;
/** Shortest prefix of a pod range: kube-controller-manager splits it into at most 2^16 node ranges. */
const POD_MASK_MIN = NODE_MASK - 16;

/** RFC 1918, and the shared address space of RFC 6598, which is not routed on the internet either: Gardener's own default is in it. */
const privateRanges = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10'];
/** The gateway on the public interface of every server of the provider. */
const providerGateway = '172.31.1.1/32';

/**
 * Checks the ranges of a cluster. They cannot change once it runs, so they must have room for the cluster's growth.
 *
 * Both stay clear of 240.0.0.0 to 244.255.255.255, which the garden's tunnel uses.
 *
 * @throws Problem `invalid_network`, or `unsupported_by_garden` for an existing network, with each invalid field
 */
export function checkNetwork(
  network: ClusterNetwork,
  {
    quotas,
    features,
  }: {
    readonly quotas: ClusterQuotas;
    readonly features: ReadonlySet<GardenFeature>;
  },
): void {
  const nodes = new Address4(network.nodeCIDR);
  checkAll([
    () => checkExistingNetwork(network, features),
    () => {
      const pods = parseRange('podCIDR', network.podCIDR);
      checkReach('podCIDR', pods);
      checkSize('podCIDR', pods, POD_MASK_MIN, podMaskMax(quotas));
      checkDisjoint('podCIDR', pods, { 'the range of the nodes': nodes });
    },
    () => {
      const services = parseRange('serviceCIDR', network.serviceCIDR);
      checkReach('serviceCIDR', services);
      checkSize('serviceCIDR', services, SERVICE_MASK_MIN, SERVICE_MASK_MAX);
      const pods = rangeOf(network.podCIDR);
      checkDisjoint('serviceCIDR', services, {
        'the range of the nodes': nodes,
        ...(pods === null ? {} : { 'the range of the pods': pods }),
      });
    },
  ]);
}

function checkExistingNetwork({ existingNetwork }: ClusterNetwork, features: ReadonlySet<GardenFeature>): void {
  if (existingNetwork === undefined || features.has('existing-network')) return;
  throw unsupportedByGarden(
    'existing-network',
    '/spec/network/existingNetwork',
    'is not supported here: every cluster gets its own network. Omit the field',
  );
}

/** Room for every node of the quota plus one surge node per pool during rolling updates. */
function podMaskMax({ nodesPerCluster, poolsPerCluster }: ClusterQuotas): number {
  return Math.max(POD_MASK_MIN, NODE_MASK - Math.ceil(Math.log2(nodesPerCluster + poolsPerCluster)));
}

type Field = 'podCIDR' | 'serviceCIDR';

const rangeOf = (text: string): Address4 | null =>
  Address4.isValid(text) && text.includes('/') ? new Address4(text) : null;

function parseRange(field: Field, text: string): Address4 {
  const range = rangeOf(text);
  if (range === null) throw wrong(field, 'must be an IPv4 range such as 10.244.0.0/16');
  const canonical = `${range.startAddress().correctForm()}/${range.subnetMask}`;
  if (canonical !== text) throw wrong(field, `must be in canonical form: ${canonical}`);
  return range;
}

function checkReach(field: Field, range: Address4): void {
  if (!privateRanges.some((outer) => range.isInSubnet(new Address4(outer)))) {
    throw wrong(field, `must be within one of the private ranges ${privateRanges.join(', ')}`);
  }
  checkDisjoint(field, range, { '172.31.1.1, the gateway of the provider': new Address4(providerGateway) });
}

function checkSize(field: Field, { subnetMask }: Address4, min: number, max: number): void {
  if (subnetMask >= min && subnetMask <= max) return;
  throw wrong(field, `must be from /${min} to /${max}, because it cannot grow with the cluster`);
}

function checkDisjoint(field: Field, range: Address4, others: Readonly<Record<string, Address4>>): void {
  for (const [what, other] of Object.entries(others)) {
    // Aligned ranges overlap only when one contains the other.
    if (range.isInSubnet(other) || other.isInSubnet(range)) {
      throw wrong(field, `overlaps ${what}. Choose a range that does not overlap`);
    }
  }
}

const wrong = (field: Field, message: string): Problem =>
  invalidField('invalid_network', `/spec/network/${field}`, message);
