import { isObject, type JsonObject } from '@corral/service';
import { parse, stringify } from 'yaml';
import { objectIn } from '../calls/json.js';

/**
 * Names the contexts of an issued kubeconfig, to keep them apart when kubeconfigs of many clusters are merged. The
 * current context gets the name, others the name and a number from 2 on, such as `acme/web:2`: no name of a cluster has
 * a colon.
 *
 * @returns any other text unchanged
 */
export function nameContexts(kubeconfig: string, name: string): string {
  const config = parsed(kubeconfig);
  if (config === null || !Array.isArray(config.contexts)) return kubeconfig;
  let others = 1;
  const contexts = config.contexts.filter(isObject).map((context) => {
    if (context.name === config['current-context']) return { ...context, name };
    others += 1;
    return { ...context, name: `${name}:${others}` };
  });
  const isCurrentKnown = contexts.some((context) => objectIn({ context }, 'context').name === name);
  const renamed = { ...config, contexts, ...(isCurrentKnown ? { 'current-context': name } : {}) };
  // No line wrapping: people copy certificates as one line.
  return stringify(renamed, { lineWidth: 0 });
}

function parsed(text: string): JsonObject | null {
  try {
    const value: unknown = parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
