import { ActionIcon, Button, NativeSelect } from '@mantine/core';
import { useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { Link, Outlet, useMatches, useNavigate, useRouterState } from '@tanstack/react-router';
import { Menu, Search } from 'lucide-react';
import { lazy, Suspense, useEffect, useState } from 'react';
import { bodyOf, corral } from '../api/corral.js';
import { meQuery } from '../api/queries.js';
import { noteSessionStart, onSessionElsewhere, tellOtherTabs, useSessionEnded } from '../api/session-end.js';
import { useIsSlow } from '../api/slow-reads.js';
import { Mark } from '../ui/mark.js';
import { Page } from '../ui/page.js';
import { clockOf } from '../ui/relative-time.js';
import { LiveUpdatesProvider, OnceBegun, useLiveState } from './live-updates-provider.js';
import { Navigation } from './navigation.js';
import { PersonButton } from './person-button.js';
import styles from './shell.module.css';
import { useShortcuts } from './shortcuts.js';
import { useTeam } from './use-team.js';

const RoleNeeded = lazy(() => import('./role-needed.js').then(({ RoleNeeded }) => ({ default: RoleNeeded })));
const ShortcutHelp = lazy(() => import('./shortcut-help.js').then(({ ShortcutHelp }) => ({ default: ShortcutHelp })));
const MenuDrawer = lazy(() => import('./menu-drawer.js').then(({ MenuDrawer }) => ({ default: MenuDrawer })));
const SignInAgain = lazy(() => import('./sign-in-again.js').then(({ SignInAgain }) => ({ default: SignInAgain })));
const PersonMenu = lazy(() => import('./person-menu.js').then(({ PersonMenu }) => ({ default: PersonMenu })));
const Palette = lazy(() => import('./palette.js').then(({ Palette }) => ({ default: Palette })));

/** The frame of all pages of a team: navigation, team switcher, live state, palette. */
export function Shell({ team }: { readonly team: string }) {
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [isMenuOpen, setMenuOpen] = useState(false);
  useShortcuts({ team, openPalette: () => setPaletteOpen(true), openHelp: () => setHelpOpen(true) });
  return (
    <LiveUpdatesProvider team={team}>
      <a href="#content" className={styles.skip}>
        Skip to content
      </a>
      <div className={styles.shell}>
        <section className={styles.side} aria-label="Team and pages">
          <Link to="/teams/$team" params={{ team }} className={styles.mark ?? ''} activeOptions={{ exact: true }}>
            <Mark />
          </Link>
          <TeamSwitcher team={team} />
          <Navigation team={team} />
          <Person />
        </section>
        <div className={styles.main}>
          <LiveBanner />
          <section className={styles.top} aria-label="Search and state">
            <ActionIcon
              className={styles.menuButton ?? ''}
              variant="default"
              onClick={() => setMenuOpen(true)}
              aria-label="Menu"
            >
              <Menu size={16} aria-hidden />
            </ActionIcon>
            <Button leftSection={<Search size={14} aria-hidden />} onClick={() => setPaletteOpen(true)}>
              Search&nbsp;<kbd>{navigator.platform.startsWith('Mac') ? '⌘' : 'Ctrl '}K</kbd>
            </Button>
            <LiveSign />
          </section>
          <main id="content" tabIndex={-1}>
            <OnceBegun>
              <AllowedPage />
            </OnceBegun>
          </main>
        </div>
      </div>
      <Suspense>
        {isMenuOpen && (
          <MenuDrawer onClose={() => setMenuOpen(false)}>
            <TeamSwitcher team={team} />
            <Navigation team={team} onGo={() => setMenuOpen(false)} />
            <Person />
          </MenuDrawer>
        )}
        {isPaletteOpen && <Palette onClose={() => setPaletteOpen(false)} />}
        {isHelpOpen && <ShortcutHelp onClose={() => setHelpOpen(false)} />}
      </Suspense>
      <SessionEndDialog />
    </LiveUpdatesProvider>
  );
}

/** The page of the address, or why it is not for the person. */
function AllowedPage() {
  const { can } = useTeam();
  const needs = useMatches({ select: (matches) => matches.at(-1)?.staticData.needs });
  if (needs === undefined || can(needs.operation)) return <Outlet />;
  return (
    <Page>
      <Suspense fallback={null}>
        <RoleNeeded {...needs} />
      </Suspense>
    </Page>
  );
}

function TeamSwitcher({ team }: { readonly team: string }) {
  const { data: me } = useSuspenseQuery(meQuery());
  const navigate = useNavigate();
  return (
    <NativeSelect
      aria-label="Team"
      value={team}
      data={me.teams.map(({ slug, name }) => ({ value: slug, label: name === slug ? slug : `${name} (${slug})` }))}
      onChange={(event) => void navigate({ to: `/teams/${event.currentTarget.value}` })}
    />
  );
}

function Person() {
  const { data: me } = useSuspenseQuery(meQuery());
  return (
    <Suspense fallback={<PersonButton person={me} />}>
      <PersonMenu me={me} />
    </Suspense>
  );
}

const liveWords = { connecting: 'Connecting', live: 'Live', down: 'Reconnecting', 'signed-out': 'Signed out' } as const;

function LiveSign() {
  const { phase } = useLiveState();
  const isLive = phase === 'live';
  const isSlow = useIsSlow();
  const dot = isSlow ? styles.dotSlow : isLive ? styles.dotLive : '';
  return (
    <span className={styles.live}>
      <span className={`${styles.dot} ${dot}`} aria-hidden />
      {isLive && isSlow ? 'Slow' : liveWords[phase]}
    </span>
  );
}

/** What is shown may be old, so the page says of when it is. */
function LiveBanner() {
  const state = useLiveState();
  const cache = useQueryClient();
  if (state.phase !== 'down') return null;
  return (
    <section className={styles.banner} aria-label="Connection">
      Offline. Showing {clockOf(state.since)}. Reconnecting…
      <Button onClick={() => void cache.invalidateQueries()}>Load again</Button>
    </section>
  );
}

/** Opens over the page when the session has ended, so that nothing typed is lost. */
function SessionEndDialog() {
  const hasEnded = useSessionEnded();
  const cache = useQueryClient();
  const href = useRouterState({ select: ({ location }) => location.href });
  useEffect(() => {
    if (!hasEnded) {
      tellOtherTabs();
      return;
    }
    // The page is that of one person: with a session of another it stays covered.
    return onSessionElsewhere(async () => {
      const before = cache.getQueryData(meQuery().queryKey);
      const me = await bodyOf(corral.getMe({})).catch(() => null);
      if (me === null || me.id !== before?.id) return;
      noteSessionStart();
      await cache.invalidateQueries();
    });
  }, [cache, hasEnded]);
  if (!hasEnded) return null;
  return (
    <Suspense fallback={null}>
      <SignInAgain returnTo={`/console${href}`} onSignedIn={() => void cache.invalidateQueries()} />
    </Suspense>
  );
}
