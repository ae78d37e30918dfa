import { createHash } from 'node:crypto';

/**
 * The public addresses of a machine or a load balancer, IPv4 and IPv6, always the same for the same seed. They are of networks
 * for documentation and benchmarks, so nothing real has them.
 */
export function publicAddresses(seed: string): [ipv4: string, ipv6: string] {
  const digest = createHash('sha256').update(seed).digest();
  const [a = 0, b = 0, c = 0] = digest;
  const [upper, lower] = [digest.readUInt16BE(4), digest.readUInt16BE(6)].map((part) => part.toString(16));
  return [`198.${18 + (a % 2)}.${b}.${c}`, `2001:db8:${upper}:${lower}::1`];
}
