import { existsSync, globSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { sidebar } from './sidebar.mjs';

const root = join(import.meta.dirname, '../..');
const vue = join(root, 'tools/docs-site/node_modules/vue');
/** Where links to files that are no pages lead. */
const sources = 'https://github.com/corral/corral/blob/main';

refusePagesBesideTheSidebar();

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
    search: { provider: 'local' },
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

function refusePagesBesideTheSidebar() {
  const listed = new Set(JSON.stringify(sidebar).match(/(?<="link":"\/)[^"]+/g));
  const pages = globSync('docs/{*,how-to/*,runbooks/*}.md', { cwd: root }).map((path) => path.replace(/\.md$/, ''));
  const missing = pages.filter((path) => !listed.has(path.replace(/README$/, 'index')));
  if (missing.length > 0) throw new Error(`Add these pages to docs/.vitepress/sidebar.mjs: ${missing.join(', ')}.`);
}
