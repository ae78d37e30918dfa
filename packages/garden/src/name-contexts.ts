import { parse, stringify } from 'yaml';
import { isObject, type JsonObject, objectIn } from './json.js';

/**
 * Names the contexts of an issued kubeconfig, so that whoever merges those of many clusters can tell them apart: the current
 * one gets the name, others the name and a number from 2 on.
 *
 * @returns what is no kubeconfig as it is
 */
export function nameContexts(kubeconfig: string, name: string): string {
  const config = parsed(kubeconfig);
  if (config === null || !Array.isArray(config.contexts)) return kubeconfig;
  let others = 1;
  const contexts = config.contexts.filter(isObject).map((context) => {
    if (context.name === config['current-context']) return { ...context, name };
    others += 1;
    return { ...context, name: `${name}-${others}` };
  });
  const isCurrentKnown = contexts.some((context) => objectIn({ context }, 'context').name === name);
  const renamed = { ...config, contexts, ...(isCurrentKnown ? { 'current-context': name } : {}) };
  // Certificates are long: broken lines would still be YAML, but not what people copy.
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
