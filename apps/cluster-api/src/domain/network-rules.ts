import type { ClusterNetwork } from '@corral/contracts';
import type { GardenFeature } from '@corral/garden';
import { Address4 } from 'ip-address';
import { invalidField, type Problem } from '../problem.js';
import { lacksFeature } from './lacks-feature.js';
import type { ClusterQuotas } from './quotas.js';

/** Each node gets a /24 of the pod range; the garden fixes that once and for all. */
const NODE_MASK = 24;
/**
 * 1,022 services. The range can never grow, and system services, load balancers and headless ones of a cluster of a
 * hundred nodes fill a /24 soon.
 */
const SERVICE_MASK_MAX = 22;
/** kube-apiserver takes no more than 20 bits of addresses for services. */
const SERVICE_MASK_MIN = 12;
/** kube-controller-manager splits a pod range into at most 2^16 ranges of nodes. */
const POD_MASK_MIN = NODE_MASK - 16;

/** RFC 1918. */
const privateRanges = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'];
/** RFC 6598: shared address space, which is not routed on the internet either. */
const sharedRange = '100.64.0.0/10';
/** The gateway that every server of the provider has on its public interface. */
const providerGateway = '172.31.1.1/32';

/**
 * Checks the ranges of a new cluster. They cannot be changed once it runs, so they have to fit what it may become.
 *
 * Pods need a range of RFC 1918: only for such a one does the provider get a route for each node; another range would
 * switch these routes off without a word. Services are never routed, so shared address space does for them, too. That
 * keeps both clear of 240.0.0.0 to 244.255.255.255, which the garden's own tunnel takes.
 *
 * @throws Problem `invalid_network`, or `unsupported_by_garden` for an existing network
 */
export function checkNetwork(
  network: ClusterNetwork,
  {
    quotas,
    features,
  }: {
    readonly quotas: Pick<ClusterQuotas, 'poolsPerCluster' | 'nodesPerCluster'>;
    readonly features: ReadonlySet<GardenFeature>;
  },
): void {
  if (network.existingNetwork !== undefined && !features.has('existing-network')) {
    throw lacksFeature(
      'existing-network',
      '/spec/network/existingNetwork',
      'is not supported here: every cluster gets its own network. Omit the field',
    );
  }
  const nodes = new Address4(network.nodeCIDR);
  const pods = parseRange('podCIDR', network.podCIDR);
  const services = parseRange('serviceCIDR', network.serviceCIDR);
  checkReach('podCIDR', pods, privateRanges);
  checkReach('serviceCIDR', services, [...privateRanges, sharedRange]);
  checkSize('podCIDR', pods, POD_MASK_MIN, podMaskMax(quotas));
  checkSize('serviceCIDR', services, SERVICE_MASK_MIN, SERVICE_MASK_MAX);
  checkDisjoint('podCIDR', pods, { 'the range of the nodes': nodes });
  checkDisjoint('serviceCIDR', services, { 'the range of the nodes': nodes, 'the range of the pods': pods });
}

/** Room for every node of the quota, and for the one more that each pool may have while its nodes are replaced. */
function podMaskMax({
  nodesPerCluster,
  poolsPerCluster,
}: Pick<ClusterQuotas, 'poolsPerCluster' | 'nodesPerCluster'>): number {
  return Math.max(POD_MASK_MIN, NODE_MASK - Math.ceil(Math.log2(nodesPerCluster + poolsPerCluster)));
}

type Field = 'podCIDR' | 'serviceCIDR';

function parseRange(field: Field, text: string): Address4 {
  const range = Address4.isValid(text) ? new Address4(text) : null;
  if (range === null || !text.includes('/')) throw wrong(field, 'must be an IPv4 range such as 10.244.0.0/16');
  const canonical = `${range.startAddress().correctForm()}/${range.subnetMask}`;
  if (canonical !== text) throw wrong(field, `must be in canonical form: ${canonical}`);
  return range;
}

function checkReach(field: Field, range: Address4, allowed: readonly string[]): void {
  if (!allowed.some((outer) => range.isInSubnet(new Address4(outer)))) {
    throw wrong(field, `must be within one of the private ranges ${allowed.join(', ')}`);
  }
  checkDisjoint(field, range, { '172.31.1.1, the gateway of the provider': new Address4(providerGateway) });
}

function checkSize(field: Field, { subnetMask }: Address4, min: number, max: number): void {
  if (subnetMask >= min && subnetMask <= max) return;
  throw wrong(field, `must be from /${min} to /${max}, because it cannot grow with the cluster`);
}

function checkDisjoint(field: Field, range: Address4, others: Readonly<Record<string, Address4>>): void {
  for (const [what, other] of Object.entries(others)) {
    // Ranges that are aligned overlap only if one holds the other.
    if (range.isInSubnet(other) || other.isInSubnet(range)) {
      throw wrong(field, `overlaps ${what}. Choose a range that does not overlap`);
    }
  }
}

const wrong = (field: Field, message: string): Problem =>
  invalidField('invalid_network', `/spec/network/${field}`, message);
