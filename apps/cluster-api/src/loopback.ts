/** Hosts that are this machine and nothing else. */
export const loopbackHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]', '::1']);

/** Whether an address is one of plain HTTP on this machine. */
export function isLoopbackUrl(text: string): boolean {
  const { protocol, hostname } = new URL(text);
  return protocol === 'http:' && loopbackHosts.has(hostname);
}
