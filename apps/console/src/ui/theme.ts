import {
  Button,
  createTheme,
  localStorageColorSchemeManager,
  type MantineColorsTuple,
  type MantineThemeOverride,
  type VariantColorsResolver,
} from '@mantine/core';
import { type ComponentProps, createElement, type MouseEvent } from 'react';

/** The chosen colour scheme, which `public/theme.js` reads before the first paint. */
export const colorSchemeManager = localStorageColorSchemeManager({ key: 'corral.theme' });

/** Buttons take the tokens of `tokens.css`, in both themes. Their colours are `accent` and `bad`. */
const variantColorResolver: VariantColorsResolver = ({ variant, color }) => {
  const name = color === 'bad' ? 'bad' : 'accent';
  if (variant === 'filled') {
    return {
      background: `var(--c-${name})`,
      hover: `var(--c-${name}-strong)`,
      color: `var(--c-on-${name})`,
      border: '1px solid transparent',
    };
  }
  if (variant === 'subtle' || variant === 'transparent') {
    return {
      background: 'transparent',
      hover: 'var(--c-subtle)',
      color: color === 'bad' ? 'var(--c-bad)' : color === 'gray' ? 'var(--c-muted)' : 'var(--c-accent)',
      border: '1px solid transparent',
    };
  }
  return {
    background: 'var(--c-raised)',
    hover: 'var(--c-subtle)',
    color: color === 'bad' ? 'var(--c-bad)' : 'var(--c-text)',
    border: '1px solid var(--c-control)',
  };
};

/**
 * A button that waits for an answer keeps the focus: it is busy rather than disabled, and a press of it does nothing.
 *
 * @param props as Mantine passes them to the element
 */
function buttonRoot({ disabled, ...props }: ComponentProps<'button'> & { readonly 'data-loading'?: boolean }) {
  if ('href' in props) return createElement('a', props as ComponentProps<'a'>);
  const isBusy = props['data-loading'] === true;
  const wait = (event: MouseEvent) => event.preventDefault();
  return createElement('button', {
    ...props,
    type: props.type ?? 'button',
    disabled: disabled === true && !isBusy,
    ...(isBusy ? { 'aria-busy': true, onClick: wait } : {}),
  });
}

const shades = (list: string): MantineColorsTuple => list.split(' ') as unknown as MantineColorsTuple;

export const theme: MantineThemeOverride = createTheme({
  fontFamily: 'var(--font-sans)',
  fontFamilyMonospace: 'var(--font-mono)',
  headings: { fontFamily: 'var(--font-sans)', fontWeight: '600' },
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.25rem' },
  defaultRadius: 'var(--radius-control)',
  // Mantine's shades, by their use: 4 is the border of controls, and in dark themes 6 a raised surface and 7 the page.
  colors: {
    gray: shades('#f5f6f8 #eef0f3 #e5e8ec #dde1e7 #7d8794 #6f7a87 #616b78 #4b5562 #2c343f #14181d'),
    dark: shades('#e9edf2 #c9d0d9 #aeb8c4 #929daa #6c7786 #2c343f #1c222a #0f1216 #0b0e11 #08162b'),
    blue: shades('#e8eefd #d3defb #b0c4f6 #89a7f1 #658bec #4a76e8 #3a69e6 #2a5ae0 #1d4fd8 #1a45bd'),
    red: shades('#fce9ee #f7ccd8 #eda3b7 #e27795 #d84f76 #c93563 #b92453 #ae1a47 #a3123b #8c0e32'),
  },
  primaryColor: 'blue',
  primaryShade: { light: 8, dark: 8 },
  respectReducedMotion: true,
  cursorType: 'pointer',
  variantColorResolver,
  components: {
    // Plain objects, since `extend` of a component would load it with the first page.
    // `renderRoot` is a property of all elements of Mantine, which its types leave out here.
    Button: Button.extend({
      defaultProps: { size: 'xs', variant: 'default', ...({ renderRoot: buttonRoot } as object) },
    }),
    Menu: { defaultProps: { withInitialFocusPlaceholder: false, shadow: 'md' } },
    Drawer: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } },
    Modal: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' }, centered: true } },
    TextInput: { defaultProps: { size: 'xs' } },
    Textarea: { defaultProps: { size: 'xs' } },
    NumberInput: { defaultProps: { size: 'xs' } },
    Select: { defaultProps: { size: 'xs', allowDeselect: false } },
    MultiSelect: { defaultProps: { size: 'xs' } },
    NativeSelect: { defaultProps: { size: 'xs' } },
    Checkbox: { defaultProps: { size: 'xs' } },
    Switch: { defaultProps: { size: 'xs' } },
    Tooltip: { defaultProps: { events: { hover: true, focus: true, touch: true } } },
  },
});

const themed = {
  '--mantine-color-body': 'var(--c-canvas)',
  '--mantine-color-text': 'var(--c-text)',
  '--mantine-color-dimmed': 'var(--c-muted)',
  '--mantine-color-placeholder': 'var(--c-faint)',
  '--mantine-color-error': 'var(--c-bad)',
  '--mantine-color-anchor': 'var(--c-accent)',
  '--mantine-color-default': 'var(--c-raised)',
  '--mantine-color-default-hover': 'var(--c-subtle)',
  '--mantine-color-default-color': 'var(--c-text)',
  '--mantine-color-default-border': 'var(--c-control)',
  '--mantine-primary-color-filled': 'var(--c-accent)',
  '--mantine-primary-color-filled-hover': 'var(--c-accent-strong)',
  '--mantine-primary-color-contrast': 'var(--c-on-accent)',
  '--mantine-color-blue-filled': 'var(--c-accent)',
};

/** Mantine's own colours, by the tokens. They are set per theme, as Mantine sets them per theme as well. */
export const cssVariablesResolver = () => ({ variables: {}, light: themed, dark: themed });
