import { beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import {
  CLUSTERS,
  clustersBeside,
  headingOf,
  nameFieldOf,
  planned,
  planOf,
} from '../../../support/console/clusters-beside.js';
import { describeConsole, expectAccessible, waitForFocus } from '../../../support/console/start-console.js';

/** Calls the handler for the first request that applies a plan; later ones pass. */
async function onFirstApply(page: Page, handle: (route: Route) => Promise<void>): Promise<() => number> {
  let count = 0;
  await page.route(`**${CLUSTERS}/*/`, async (route) => {
    if (route.request().method() !== 'PUT') return route.continue();
    count += 1;
    return count === 1 ? handle(route) : route.continue();
  });
  return () => count;
}

describeConsole('for clusters', (running) => {
  const clusters = clustersBeside(running);

  beforeAll(async () => {
    await clusters.hurryGarden();
  });

  beforeEach(async () => {
    await clusters.put('web'); // as each test expects it, whatever the one before has changed
    await clusters.untilReady('web');
  });

  it('leads from each of several refusals to its field, and keeps what was typed', async () => {
    const page = await running().open('/teams/acme/clusters/+');
    await nameFieldOf(page).fill('refused');
    await page.getByLabel('Minimum (nodes)').fill('9');
    await page.getByText('Network ranges').press('Enter');
    await page.getByLabel('Range of the pods').fill('10.250.0.0/16');
    const reasons = page.getByRole('region', { name: 'Reasons for a refusal' });
    await reasons.getByRole('button', { name: 'network range of the pods' }).waitFor();
    await planned(page);
    await page.keyboard.press('Control+Enter');
    await waitForFocus(reasons);
    await expectAccessible(page);
    await reasons.getByRole('button', { name: 'general, minimum' }).press('Enter');

    const minimum = page.getByLabel('Minimum (nodes)');
    await waitForFocus(minimum);
    await page.reload();
    expect(await minimum.inputValue()).toBe('9');
  });

  it('changes a cluster as YAML: broken text is kept, comments survive, Tab leaves the editor', async () => {
    const page = await running().open('/teams/acme/clusters/web');
    await page.getByRole('button', { name: 'Change', exact: true }).waitFor();
    await page.keyboard.press('e');
    await page.getByRole('button', { name: 'YAML' }).press('Enter');
    const editor = page.getByRole('textbox', { name: 'Specification as YAML' });
    await editor.press('Control+Home');
    await page.keyboard.type('# tested on Monday\n}\n');
    await page.getByText(/^Line 2: /).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Form', exact: true }).press('Enter');
    await page.getByText('Fix line 2 to continue here.').waitFor();
    expect(await page.getByLabel('Maximum (nodes)').isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Show line 2' }).press('Enter');
    await page.keyboard.press('Shift+End');
    await page.keyboard.press('Delete');
    await page.keyboard.press('Tab');
    expect(await editor.evaluate((element) => element.contains(document.activeElement))).toBe(false);

    await page.getByRole('button', { name: 'Form', exact: true }).press('Enter');
    await page.getByLabel('Maximum (nodes)').fill('4');
    await page.getByRole('button', { name: 'YAML' }).press('Enter');
    await editor.getByText('# tested on Monday').waitFor();
    await planOf(page).getByText('1–3 → 1–4 nodes.').waitFor();
    await planned(page);
    await editor.press('Control+Enter');
    await headingOf(page, 'web').waitFor();
    expect((await clusters.read('web')).spec.nodePools[0]?.maximum).toBe(4);
  });

  it('compares three ways when two people changed the same cluster, and lets no change get lost', async () => {
    await clusters.declare('disputed');
    const page = await running().open('/teams/acme/clusters/disputed/change');
    await page.getByLabel('Maximum (nodes)').fill('7');
    const { spec } = await clusters.read('disputed');
    const theirs = { ...spec, plan: 'annual', nodePools: [{ ...spec.nodePools[0], maximum: 6 }] };
    expect((await running().api('PUT', `${CLUSTERS}/disputed/`, { spec: theirs })).status).toBe(202);
    await page.getByText('disputed has changed since you began.').waitFor();
    expect(await page.getByLabel('Maximum (nodes)').inputValue()).toBe('7');
    await page.getByRole('button', { name: 'Compare' }).press('Enter');
    await page
      .getByRole('row', { name: /^tariff/ })
      .getByText('Theirs, taken over')
      .waitFor();
    await page.getByRole('button', { name: 'Continue with these' }).press('Enter');
    await page.getByText('Choose one.').waitFor();
    await expectAccessible(page);
    await page.getByLabel('Outcome of general, maximum').selectOption('yours');
    await page.getByRole('button', { name: 'Continue with these' }).press('Enter');
    await planOf(page).getByText('1–6 → 1–7 nodes.').waitFor();
    await planned(page);
    await page.keyboard.press('Control+Enter');
    await headingOf(page, 'disputed').waitFor();
    expect((await clusters.read('disputed')).spec).toMatchObject({ plan: 'annual', nodePools: [{ maximum: 7 }] });
  });

  it('sends a plan again when only the entity tag moved', async () => {
    const page = await running().open('/teams/acme/clusters/web/change');
    await page.getByLabel('Maximum (nodes)').fill('8');
    await planOf(page).getByText('1–3 → 1–8 nodes.').waitFor();
    await planned(page);
    const sent = await onFirstApply(page, (route) =>
      route.continue({ headers: { ...route.request().headers(), 'if-match': '"of-before"' } }),
    );
    await page.keyboard.press('Control+Enter');
    await headingOf(page, 'web').waitFor();
    expect((await clusters.read('web')).spec.nodePools[0]?.maximum).toBe(8);
    expect(sent()).toBeGreaterThan(1);
  });

  it('finds a cluster whose creation was accepted although the answer was lost', async () => {
    const page = await running().open('/teams/acme/clusters/+');
    await nameFieldOf(page).fill('lost');
    await page.getByRole('button', { name: 'Remove pool general' }).press('Enter');
    await planned(page);
    await onFirstApply(page, async (route) => {
      await route.fetch();
      await route.abort();
    });
    await page.getByRole('button', { name: 'Save draft' }).press('Enter');
    await headingOf(page, 'lost').waitFor();
    await page.getByText(/^A draft, which costs nothing\./).waitFor();
  });

  it('hibernates and resumes from the list', async () => {
    const page = await running().open('/teams/acme/clusters');
    const row = page.getByRole('row', { name: /^web/ });
    await row.getByText('Ready', { exact: true }).waitFor();
    for (const [verb, phase] of [
      ['Hibernate', 'Hibernated'],
      ['Resume', 'Ready'],
    ] as const) {
      await row.getByRole('button', { name: `${verb} web` }).press('Enter');
      const dialog = page.getByRole('dialog', { name: `${verb} web` });
      await planned(page);
      await dialog.getByRole('button', { name: `${verb} web` }).press('Enter');
      await dialog.waitFor({ state: 'hidden' });
      await row.getByText(phase, { exact: true }).waitFor();
    }
  });

  it('keeps asking to hibernate when somebody else is first, and says so', async () => {
    await clusters.declare('slept');
    await clusters.untilReady('slept');
    const page = await running().open('/teams/acme/clusters/slept');
    await page.getByRole('button', { name: 'More actions of slept' }).press('Enter');
    await page.getByRole('menuitem', { name: 'Hibernate…' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Hibernate slept' });
    await planned(page);
    expect((await running().api('POST', `${CLUSTERS}/slept/hibernate/`, {})).status).toBe(202);
    await dialog.getByText('slept is already hibernated. Nothing is left to do.').waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Resume slept' }).waitFor();
  });
});
