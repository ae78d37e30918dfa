import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { builtFile, repository } from '../../support/system/program.js';

/* The Markdown of the repository, as it is. `npm run test:long -- docs` builds the site of it and runs its commands. */

interface SidebarItem {
  readonly text: string;
  readonly link?: string;
  readonly items?: readonly SidebarItem[];
}

const { sidebar } = (await import(builtFile('docs/.vitepress/sidebar.mjs'))) as { sidebar: readonly SidebarItem[] };

// The pages of the provider have anchors as its registries make them.
const others = [':!tests/clients/*/*', ':!.github', ':!clients/terraform-provider-corral/docs'];
const pages = spawnSync('git', ['ls-files', '*.md', ...others], {
  cwd: repository,
  encoding: 'utf8',
})
  .stdout.trim()
  .split('\n');
const read = (page: string): string => readFileSync(join(repository, page), 'utf8');
const withoutBlocks = (text: string): string => text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '');

const kinds = sidebar.flatMap(({ items = [] }) => items);
const pagesIn = ({ items = [] }: SidebarItem): string[] =>
  items.map(({ link = '' }) => `${link.slice(1).replace(/index$/, 'README')}.md`);
/** What is looked up and not read. */
const reference = kinds.filter(({ text }) => text === 'Reference').flatMap(pagesIn);

/** What a reader reads: without blocks of code, addresses of links, and the lines of tables. */
function wordsOf(text: string): number {
  const prose = withoutBlocks(text).replaceAll(/\]\([^)]*\)/g, ']');
  return prose.split(/\s+/).filter((word) => /[a-z0-9]/i.test(word)).length;
}

/** The anchors of headings, as forges make them. */
function anchorsOf(text: string): string[] {
  return [...withoutBlocks(text).matchAll(/^#{1,6} (.*)$/gm)].map(([, heading = '']) => {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    return plain.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-');
  });
}

function brokenLinksOf(page: string): string[] {
  const links = [...withoutBlocks(read(page)).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(([, to = '']) => to);
  return links.filter((link) => {
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : relative(repository, join(repository, dirname(page), decodeURI(path)));
    if (!existsSync(join(repository, target))) return true;
    return anchor !== undefined && target.endsWith('.md') && !anchorsOf(read(target)).includes(anchor);
  });
}

describe('the documentation', () => {
  it('has more than 1,500 words on a page only where things are looked up', () => {
    const long = pages.filter((page) => wordsOf(read(page)) > 1_500);

    expect(long.filter((page) => !reference.includes(page))).toEqual([]);
  });

  it('has every page of docs/ in the sidebar of the site', () => {
    const listed = kinds.flatMap(pagesIn);
    const ofDocs = pages.filter((page) => /^docs\/((how-to|runbooks)\/)?[^/]+$/.test(page));

    expect(ofDocs.filter((page) => !listed.includes(page))).toEqual([]);
  });

  it('has no link to a page or a heading that does not exist', () => {
    const broken = pages.flatMap((page) => brokenLinksOf(page).map((link) => `${page}: ${link}`));

    expect(broken).toEqual([]);
  });
});
