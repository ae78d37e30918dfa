import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { runCommand } from '../../support/clients/run-command.js';
import { builtFile, repository } from '../../support/system/program.js';

/* The search of the built site, as the site itself searches. */

/** What somebody who does not know Corral types, and the page that helps. */
const goals = [
  ...readFileSync(builtFile('docs/releasing.md'), 'utf8').matchAll(/^\| ([a-z ]+?) +\| \[[^\]]+\]\((\S+)\.md\) +\|$/gm),
].map(([, words = '', page = '']) => [words, `docs/${page}`] as const);
const HITS = 3;

interface Index {
  search(words: string, options: object): readonly { readonly id: string }[];
}

const { default: site } = await import(builtFile('docs/.vitepress/config.mjs'));
const { options, searchOptions } = site.themeConfig.search.options.miniSearch;
let index: Index;
beforeAll(async () => {
  const built = await runCommand(['npm', 'run', '-s', 'docs'], { cwd: repository, timeoutMs: 500_000 });
  expect(built).toMatchObject({ code: 0 });
  const chunks = builtFile('dist/docs/assets/chunks');
  const file = readdirSync(chunks).find((name) => name.startsWith('@localSearchIndex')) as string;
  const { default: json } = await import(join(chunks, file));
  const { default: MiniSearch } = await import(builtFile('tools/docs-site/node_modules/minisearch/dist/es/index.js'));
  index = MiniSearch.loadJSON(json, { fields: ['title', 'titles', 'text'], ...options });
}, 600_000);

/** The first pages that the site shows, each once. The first three options are those of VitePress (`VPLocalSearchBox.vue`). */
function pagesFor(words: string): string[] {
  const hits = index.search(words, {
    fuzzy: 0.2,
    prefix: true,
    boost: { title: 4, text: 2, titles: 1 },
    ...searchOptions,
  });
  return [...new Set(hits.map(({ id }) => id.replace(/^\/|\.html.*$/g, '')))].slice(0, HITS);
}

describe('the search of the documentation', () => {
  it('has ten goals', () => {
    expect(goals).toHaveLength(10);
  });

  it.each(goals)('leads from "%s" to %s', (words, page) => {
    expect(pagesFor(words)).toContain(page);
  });
});
