import { waitFor } from '@corral/testing';
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import type { RunningConsole } from './start-console.js';

export const CLUSTERS = '/api/v1/teams/acme/clusters';

interface ClusterBody {
  readonly metadata: { readonly etag: string };
  readonly spec: { readonly plan: string; readonly nodePools: readonly { readonly maximum: number }[] };
  readonly status: { readonly phase: string };
}

interface Place {
  readonly namespace: string;
  readonly name: string;
}

export const headingOf = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true });
/** The pools have names as well. */
export const nameFieldOf = (page: Page) => page.getByRole('textbox', { name: 'Name' }).first();
export const planOf = (page: Page) => page.getByRole('region', { name: 'Plan', exact: true });

/** Waits until the plan is that of what was typed. */
export const planned = (page: Page) => planOf(page).getByRole('status').filter({ hasText: 'Checked' }).waitFor();

const quick = { createMs: 500, reconcileMs: 300, deleteMs: 300, joinMs: 100 };

/** Clusters of the first team beside the console, as other people and earlier days make them. */
export function clustersBeside(running: () => RunningConsole) {
  const admin = (method: string, path: string, body?: unknown) =>
    fetch(`${running().dev.upstream.adminUrl}/admin${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const read = async (name: string) => (await running().api('GET', `${CLUSTERS}/${name}/`)).json as ClusterBody;
  const put = async (name: string, more: object = {}): Promise<number> => {
    const { region, kubernetesVersion, machineType } = running().dev.defaults;
    const nodePools = [{ name: 'general', machineType, minimum: 1, maximum: 3 }];
    const spec = { connectionRef: 'main', region, kubernetesVersion, plan: 'payg', nodePools, ...more };
    return (await running().api('PUT', `${CLUSTERS}/${name}/`, { spec })).status;
  };
  return {
    /** Changes the imitated cloud. */
    admin,
    read,
    put,
    declare: async (name: string, more: object = {}) => expect(await put(name, more)).toBe(202),
    untilReady: (name: string) =>
      waitFor(`${name} to be ready`, async () => (await read(name)).status.phase === 'Ready'),
    /** The address of a node of the cluster that was made last. */
    async addressOfNewest(): Promise<string> {
      const { shoots } = (await (await admin('GET', '/garden/shoot-history')).json()) as { shoots: Place[] };
      const { namespace, name } = shoots.at(-1) as Place;
      const answer = await admin('GET', `/garden/shoots/${namespace}/${name}/nodes`);
      const { nodes } = (await answer.json()) as { nodes: { addresses: string[] }[] };
      return nodes[0]?.addresses[0] as string;
    },
    /** Makes the imitated garden do in parts of a second what takes minutes elsewhere. */
    hurryGarden: () => admin('PATCH', '/garden/settings', quick),
  };
}
