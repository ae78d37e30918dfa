import { randomInt } from 'node:crypto';
import type { JsonObject } from '../json.js';

export interface BootstrapToken {
  readonly id: string;
  readonly secret: string;
}

/** Says which node a token was made for, so that it is found when that has come. */
export const nodeLabel = 'corral.dev/joins-as';

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** By the form that Kubernetes gives bootstrap tokens: kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens. */
export function newBootstrapToken(): BootstrapToken {
  return { id: randomText(6), secret: randomText(16) };
}

function randomText(length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}

/**
 * Renders the Secret that makes a token valid, with the fields of the tokens that Gardener makes for its own machines
 * (gardener/machine-controller-manager: pkg/util/provider/machinecontroller/machine_bootstrap_token.go). Those have no
 * extra groups: all that nodes need is granted to `system:bootstrappers`. Theirs may sign as well, which a server that was
 * told the certificate authority has no use for. The cluster removes it when it has expired.
 */
export function renderBootstrapToken({ id, secret }: BootstrapToken, nodeName: string, expiresAt: Date): JsonObject {
  const fields = {
    description: `For the server ${nodeName} to join as a node.`,
    'token-id': id,
    'token-secret': secret,
    expiration: `${expiresAt.toISOString().slice(0, 19)}Z`,
    'usage-bootstrap-authentication': 'true',
  };
  const data = Object.entries(fields).map(([key, value]) => [key, Buffer.from(value).toString('base64')] as const);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'kube-system', name: `bootstrap-token-${id}`, labels: { [nodeLabel]: nodeName } },
    type: 'bootstrap.kubernetes.io/token',
    data: Object.fromEntries(data),
  };
}
