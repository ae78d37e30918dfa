import { waitFor } from '@corral/testing';
import { beforeAll, expect, it } from '@jest/globals';
import {
  CLUSTERS,
  clustersBeside,
  headingOf,
  nameFieldOf,
  planned,
  planOf,
} from '../../support/console/clusters-beside.js';
import { recordSetsBeside } from '../../support/console/record-sets-beside.js';
import {
  type DevTeam,
  expectAccessible,
  type RunningConsole,
  waitForFocus,
} from '../../support/console/start-console.js';

/** Clusters: made by keyboard, used, retried and deleted. */
export function testClusters(running: () => RunningConsole): void {
  const clusters = clustersBeside(running);
  const sets = recordSetsBeside(running);
  beforeAll(() => clusters.hurryGarden());
  const declareReady = async (name: string) => {
    await clusters.declare(name);
    await clusters.untilReady(name);
  };

  it('creates a cluster by keyboard, after its plan was shown', async () => {
    const empty = running().dev.teams[1] as DevTeam;
    const page = await running().open(`/teams/${empty.slug}/clusters`, { sessionid: empty.admin.sessionid });
    await page.getByText('No clusters. A draft costs nothing.').waitFor();
    await page.keyboard.press('n');
    await headingOf(page, 'Create cluster').waitFor();
    await nameFieldOf(page).waitFor();
    await page.keyboard.type('web');
    await planOf(page).getByText('Its control plane and its nodes are created.').waitFor();
    await planOf(page)
      .getByText(/^\d+ fields$/)
      .waitFor();
    await planned(page);
    await page.keyboard.press('Control+Enter');

    await headingOf(page, 'web').waitFor();
    await page.getByText('Ready', { exact: true }).waitFor();
    await page.locator(':focus').waitFor();
  });

  it('connects by a command, or by a kubeconfig whose key is copied and not shown', async () => {
    await declareReady('reached');
    const page = await running().open('/teams/acme/clusters/reached/access');
    const connect = page.getByRole('button', { name: 'Connect' });
    await connect.press('Enter');
    await page.getByRole('menuitem', { name: 'Read only, 8 h' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Connect to reached: read only' });
    await dialog.getByText('corral kubeconfig get reached --exec --merge --scope viewer').waitFor();
    await dialog.getByText('No kubeconfig was issued yet.').waitFor();
    const issue = dialog.getByRole('button', { name: 'Issue kubeconfig' });
    await issue.press('Enter');
    const config = page.getByRole('region', { name: 'kubeconfig', exact: true });
    await config.getByText('kind: Config').waitFor();
    await waitForFocus(issue);
    expect(await config.textContent()).toContain('client-key-data: ••••');
    await page.getByRole('button', { name: 'Copy kubeconfig' }).press('Enter');
    await expect(page.evaluate(() => navigator.clipboard.readText())).resolves.toMatch(/client-key-data: \w/);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download acme-reached.kubeconfig' }).press('Enter'),
    ]);
    expect(download.suggestedFilename()).toBe('acme-reached.kubeconfig');
    await dialog.getByRole('row', { name: /admin@acme\.test.*read only/ }).waitFor();
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain(
      'client-key',
    );
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await waitForFocus(connect);
  });

  it('changes a pool in its place, by a plan of nodes and cost', async () => {
    await declareReady('scaled');
    const page = await running().open('/teams/acme/clusters/scaled');
    const maximum = page.getByLabel('Maximum of general');
    // What is loaded of the machines and the nodes widens the row.
    await page.getByRole('row', { name: /general .*cores.*\d of \d/ }).waitFor();
    const before = await maximum.boundingBox();
    await maximum.fill('5');
    expect(await maximum.boundingBox()).toEqual(before);
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Scale general of scaled' });
    await dialog.getByText('general: up to 3 → 5 nodes').waitFor();
    await dialog.getByText('1–3 → 1–5 nodes.').waitFor();
    await expectAccessible(page);
    await planned(page);
    await page.keyboard.press('Control+Enter');
    await dialog.waitFor({ state: 'hidden' });
    await page.locator('main :focus').waitFor();
    expect((await clusters.read('scaled')).spec.nodePools[0]?.maximum).toBe(5);

    await page.getByRole('button', { name: 'Add pool' }).press('Enter');
    const adding = page.getByRole('dialog', { name: 'Add a pool to scaled' });
    await adding.getByLabel('Name').fill('batch');
    await adding.getByText('batch: new pool').waitFor();
    await planned(page);
    await adding.getByRole('button', { name: 'Add a pool to scaled' }).press('Enter');
    await page.getByLabel('Maximum of batch').waitFor();
    await page.getByText(/saved cluster: batch: new pool/).waitFor();
  });

  it('gives a cluster a schedule by keyboard, and says what it says next and what it saves', async () => {
    await declareReady('nightly');
    const page = await running().open('/teams/acme/clusters/nightly');
    const sleep = page.getByRole('region', { name: 'Sleep' });
    await sleep.getByRole('button', { name: 'Add schedule' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Change the schedule of nightly' });
    await dialog.getByLabel('Time zone').selectOption('Europe/Berlin');
    await dialog.getByLabel('Sat').press('Space');
    await dialog.getByLabel('Until').fill('06:00');
    await dialog.getByText('must be later than from').first().waitFor();
    await dialog.getByLabel('Until').fill('20:00');
    await planned(page);
    await expectAccessible(page);
    await page.keyboard.press('Control+Enter');
    await dialog.waitFor({ state: 'hidden' });
    await sleep.getByText('awake mon tue wed thu fri sat 07:00-20:00 Europe/Berlin').waitFor();
    await sleep.getByText(/^(asleep|awake) until \w{3} \d{1,2} \w{3} (07|20):00/).waitFor();
    await sleep.getByText(/^−\d.* EUR$/).waitFor();
    // The answer is that of a cluster after a fortnight.
    await page.route(/\/usage\/\?/, async (route) => {
      const answer = await route.fetch();
      const since = new Date(Date.now() - 14 * 86_400_000).toISOString();
      const savedBySleep = [{ cluster: 'nightly', since, amount: '41.30', currency: 'EUR' }];
      await route.fulfill({ response: answer, json: { ...(await answer.json()), savedBySleep } });
    });
    await page.reload();
    await sleep.getByText(/^Saved since .*ago\): 41\.30 EUR$/).waitFor();
  });

  it('puts a name on a cluster once it showed what is installed, and takes it off', async () => {
    await declareReady('named');
    const page = await running().open('/teams/acme/clusters/named');
    await page.getByRole('button', { name: 'Add name' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Add a name to named' });
    const name = dialog.getByLabel('Name', { exact: true });
    await name.fill('shop.globex');
    await page.keyboard.press('Enter');
    await dialog.getByText('must be "acme" or a name below it').waitFor();
    await name.fill('shop.acme');
    await page.keyboard.press('Enter');
    await dialog.getByRole('row', { name: /^ClusterIssuer.*shop\.acme/ }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });

    const row = page.getByRole('row', { name: /^shop\.acme/ });
    await row.getByText(/install cert-manager/).waitFor();
    await row.getByRole('button', { name: 'Remove shop.acme' }).press('Enter');
    await page.getByLabel('Type shop.acme to confirm').fill('shop.acme');
    await page.keyboard.press('Enter');
    await row.waitFor({ state: 'detached' });
  });

  it('shows on its page why an operation failed and who has to act, and retries it', async () => {
    const effect = { codes: ['ERR_INFRA_QUOTA_EXCEEDED'], message: 'Server limit reached.' };
    await clusters.admin('POST', '/garden/shoot-faults', [{ operations: ['Create'], times: null, effect }]);
    await clusters.declare('batch');
    const page = await running().open('/teams/acme/clusters');
    await page
      .getByRole('row', { name: /^batch/ })
      .getByRole('link', { name: /Creating/ })
      .press('Enter');
    await headingOf(page, 'Creating batch').waitFor();
    await page.getByRole('link', { name: 'batch' }).press('Enter');
    const now = page.getByRole('region', { name: 'Now' });
    await now.getByText('failed', { exact: true }).waitFor();
    await now.getByText('Your team has to act.').waitFor();
    expect(await now.getByRole('progressbar').count()).toBe(0);
    await expectAccessible(page);
    await clusters.admin('DELETE', '/garden/shoot-faults', {});
    await now.getByRole('button', { name: 'Retry batch' }).press('Enter');
    await page.getByText('Ready', { exact: true }).waitFor();
    await page.getByText(/^All \d+ checks pass$/).waitFor();
    await now.waitFor({ state: 'detached' });
  });

  it('deletes a cluster once its name was typed, says what is lost, and afterwards who deleted it', async () => {
    await clusters.declare('unwanted', { deletionProtection: true });
    await clusters.untilReady('unwanted');
    const value = await clusters.addressOfNewest();
    await sets.dns('POST', '', { name: 'unwanted.acme', type: 'A', records: [{ value }] });
    await waitFor('the address to be known', async () => {
      const { json } = await running().api('POST', `${CLUSTERS}/unwanted/hibernate/?dryRun=true`);
      return (json as { recordSets: unknown[] }).recordSets.length === 1;
    });
    // The deletion lasts until the page has shown it.
    await clusters.admin('POST', '/garden/shoot-faults', [
      { operations: ['Delete'], times: null, effect: { stuck: true } },
    ]);
    const page = await running().open('/teams/acme/clusters/unwanted/danger');
    const remove = async () => {
      await page.getByRole('button', { name: 'More actions of unwanted' }).press('Enter');
      await page.getByRole('menuitem', { name: 'Delete…' }).press('Enter');
    };
    await remove();
    const lift = page.getByRole('dialog', { name: 'Lift the protection of unwanted' });
    await lift.getByText('unwanted is protected from deletion. Lift the protection first, then delete it.').waitFor();
    await planned(page);
    await lift.getByRole('button', { name: 'Lift the protection of unwanted' }).press('Enter');
    await lift.waitFor({ state: 'detached' });
    await remove();
    const dialog = page.getByRole('dialog', { name: 'Delete unwanted' });
    await dialog.getByText(/^Volumes of persistent volume claims are deleted/).waitFor();
    await dialog.getByText(/^Saves .* a month/).waitFor();
    const leading = dialog.getByRole('list', { name: 'Record sets that lead to it' });
    await leading.getByText(/^unwanted\.acme\..* A to/).waitFor();
    const typed = dialog.getByLabel('Type unwanted to confirm');
    await typed.fill('unwonted');
    await page.keyboard.press('Enter');
    await dialog.getByText('This is not unwanted.').waitFor();
    await expectAccessible(page);
    await typed.fill('unwanted');
    await page.keyboard.press('Enter');
    await page.getByText('Deleting', { exact: true }).first().waitFor();
    await clusters.admin('DELETE', '/garden/shoot-faults', {});
    await page.getByText(/^unwanted was deleted on .* by admin@acme\.test\.$/).waitFor();
    await page.getByRole('link', { name: 'All clusters' }).press('Enter');
    await headingOf(page, 'Clusters').waitFor();

    const records = await running().open('/teams/acme/dns/records');
    await records.getByText('1 record set with an address that is gone').press('Enter');
    await records.getByText(/was the node .* of cluster unwanted until/).waitFor();
    await expectAccessible(records);
    await sets.dns('DELETE', '/unwanted.acme/A');
    await records.getByText('1 record set with an address that is gone').waitFor({ state: 'detached' });
  });
}
