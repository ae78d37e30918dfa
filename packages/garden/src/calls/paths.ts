const core = '/apis/core.gardener.cloud/v1beta1';

export const shootsPath = `${core}/shoots`;
export const shootPath = ({ namespace, name }: Named): string =>
  `${core}/namespaces/${segment(namespace)}/shoots/${segment(name)}`;
export const projectPath = (name: string): string => `${core}/projects/${segment(name)}`;
export const cloudProfilePath = (name: string): string => `${core}/cloudprofiles/${segment(name)}`;
export const namespacePath = (name: string): string => `/api/v1/namespaces/${segment(name)}`;
export const secretPath = ({ namespace, name }: Named): string =>
  `/api/v1/namespaces/${segment(namespace)}/secrets/${segment(name)}`;
export const configMapPath = ({ namespace, name }: Named): string =>
  `/api/v1/namespaces/${segment(namespace)}/configmaps/${segment(name)}`;
export const secretsPath = (namespace: string): string => `/api/v1/namespaces/${segment(namespace)}/secrets`;
export const nodesPath = '/api/v1/nodes';
export const nodePath = (name: string): string => `/api/v1/nodes/${segment(name)}`;
export const podsPath = '/api/v1/pods';
export const evictionPath = ({ namespace, name }: Named): string =>
  `/api/v1/namespaces/${segment(namespace)}/pods/${segment(name)}/eviction`;
/** The path of an object of any kind. @param object namespace: undefined for kinds without namespaces */
export function objectPath(object: {
  apiVersion: string;
  resource: string;
  namespace?: string | undefined;
  name: string;
}): string {
  const { apiVersion, resource, namespace, name } = object;
  const group = `/${apiVersion.includes('/') ? 'apis' : 'api'}/${apiVersion.split('/').map(segment).join('/')}`;
  const scope = namespace === undefined ? '' : `/namespaces/${segment(namespace)}`;
  return `${group}${scope}/${segment(resource)}/${segment(name)}`;
}
export const credentialsBindingPath = ({ namespace, name }: Named): string =>
  `/apis/security.gardener.cloud/v1alpha1/namespaces/${segment(namespace)}/credentialsbindings/${segment(name)}`;

export interface Named {
  namespace: string;
  name: string;
}

/** @throws TypeError for segments that change the path: an empty one addresses the whole collection */
function segment(text: string): string {
  if (text === '' || text === '.' || text === '..') throw new TypeError(`A name must not be ${JSON.stringify(text)}.`);
  return encodeURIComponent(text);
}

export function query(parameters: Record<string, string | number | null>): string {
  const present = Object.entries(parameters).filter(([, value]) => value !== null);
  return `?${new URLSearchParams(present.map(([key, value]) => [key, String(value)] as [string, string]))}`;
}
