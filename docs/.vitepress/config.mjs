import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { sidebar } from './sidebar.mjs';

const root = join(import.meta.dirname, '../..');
const vue = join(root, 'tools/docs-site/node_modules/vue');
/** Where links to files that are no pages lead. */
const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const sources = repository.url.replace(/^git\+(.*)\.git$/, '$1/blob/main');

/** The site is made of the Markdown of the whole repository as it is, so that links between pages are those of the files. */
export default {
  title: 'Corral',
  description: 'Self-service DNS record sets and Kubernetes clusters for the teams of one organisation',
  lang: 'en',
  srcDir: '..',
  srcExclude: ['tests/clients/*/**', '**/dist/**', '.github/**', 'tools/docs-site/**', '.*/**'],
  outDir: '../dist/docs',
  cacheDir: '../.cache/vitepress',
  rewrites: { 'README.md': 'index.md', ':folder(.*)/README.md': ':folder/index.md' },
  cleanUrls: false,
  ignoreDeadLinks: false,
  // The pages are outside of the package that has Vue.
  vite: {
    resolve: {
      alias: [
        { find: /^vue$/, replacement: join(vue, 'dist/vue.runtime.esm-bundler.js') },
        { find: /^vue\/server-renderer$/, replacement: join(vue, 'server-renderer/index.mjs') },
      ],
    },
    ssr: { noExternal: [/^vue/, /^@vue/] },
  },
  markdown: { config: (markdown) => markdown.core.ruler.push('repository-links', linkRepository) },
  themeConfig: {
    search: {
      provider: 'local',
      options: { miniSearch: { options: { processTerm }, searchOptions: { boostDocument } } },
    },
    sidebar,
    outline: 'deep',
    nav: [
      { text: 'Tour', link: '/docs/tour' },
      { text: 'Operate', link: '/docs/operate' },
      { text: 'Contribute', link: '/CONTRIBUTING' },
      { text: 'Changelog', link: '/CHANGELOG' },
    ],
  },
};

/** Words that are on every page find nothing. The site has a copy of this text, so it uses nothing around it. */
function processTerm(term) {
  const isFiller =
    /^(a|an|and|are|as|at|be|can|do|does|for|from|have|how|i|if|in|is|it|my|of|on|or|own|the|to|use|what|which|why|with|you)$/i;
  return isFiller.test(term) ? null : term.toLowerCase();
}

/** Pages for users and operators come before those for contributors. */
function boostDocument(id) {
  if (/^\/docs\/(how-to\/|tour)/.test(id)) return 2;
  return /^\/(docs\/(?!decisions|conformance|reconciler|architecture)|$)/.test(id) ? 1 : 0.3;
}

/** A README is the index of its folder, and what is no page is read at the forge. */
function linkRepository({ tokens, env }) {
  const from = relative(root, env.realPath ?? env.path);
  // Vite reads a path without a dot as the name of a package.
  for (const token of tokens.filter(({ type }) => type === 'html_block'))
    token.content = token.content.replace(/(src(?:set)?=")(?=\w)(?!https?:)/g, '$1./');
  for (const token of tokens.flatMap(({ children }) => children ?? [])) {
    const href = token.type === 'link_open' ? token.attrGet('href') : null;
    if (href === null || /^([a-z]+:|#|\/)/i.test(href)) continue;
    const [path, anchor] = href.split('#');
    const target = posix.join(dirname(from), decodeURI(path));
    const suffix = anchor === undefined ? '' : `#${anchor}`;
    if (target.endsWith('.md')) token.attrSet('href', path.replace(/README\.md$/, 'index.md') + suffix);
    else if (existsSync(join(root, target))) token.attrSet('href', `${sources}/${target}${suffix}`);
  }
}
