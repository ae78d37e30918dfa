import { randomInt } from 'node:crypto';
import type { JsonObject } from '@corral/service';

export interface BootstrapToken {
  readonly id: string;
  readonly secret: string;
}

/** Label with the node that a token was made for. Used to delete the token after the node has joined. */
export const nodeLabel = 'corral.dev/joins-as';

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** Format: kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens. */
export function newBootstrapToken(): BootstrapToken {
  return { id: randomText(6), secret: randomText(16) };
}

function randomText(length: number): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}

/**
 * Renders the Secret that makes a token valid, with the fields of Gardener's own machine tokens
 * (gardener/machine-controller-manager: pkg/util/provider/machinecontroller/machine_bootstrap_token.go). It needs no
 * extra groups: `system:bootstrappers` has all rights that nodes need. Gardener's tokens may also sign, which a server
 * that already has the certificate authority does not need. The cluster removes the Secret after its expiry.
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
