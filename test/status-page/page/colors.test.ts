import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const css = readFileSync(new URL('../../../src/status-page/page/colors.css', import.meta.url), 'utf8');
const [light = '', dark = ''] = css.split('@media (prefers-color-scheme: dark)');

/** Where each text colour is shown. */
const surfaces: Readonly<Record<string, readonly string[]>> = {
  ink: ['bg', 'surface', 'hover', 'chosen', 'good-soft', 'busy-soft', 'warn-soft', 'bad-soft'],
  muted: ['bg', 'surface', 'hover', 'chosen', 'quiet-soft'],
  good: ['surface', 'hover', 'chosen', 'good-soft'],
  busy: ['surface', 'hover', 'chosen', 'busy-soft'],
  warn: ['surface', 'hover', 'chosen', 'warn-soft'],
  bad: ['surface', 'hover', 'chosen', 'bad-soft'],
  quiet: ['surface', 'hover', 'chosen', 'quiet-soft'],
  'on-accent': ['accent'],
};

/** The relative luminance of WCAG. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(scheme: string, one: string, other: string): number {
  const [lower = 0, higher = 0] = [one, other]
    .map((name) => {
      const color = new RegExp(`--${name}: (#[0-9a-f]{6});`).exec(scheme)?.[1];
      if (color === undefined) throw new Error(`colors.css has no --${name}`);
      return luminance(color);
    })
    .sort((a, b) => a - b);
  return (higher + 0.05) / (lower + 0.05);
}

// axe-core does not see generated content, such as the numbers of candidates, nor the states that a test does not open.
describe.each([
  { name: 'light', scheme: light },
  { name: 'dark', scheme: dark },
])('the $name colours', ({ scheme }) => {
  test.each(Object.entries(surfaces))(
    'of text, --%s, have a contrast of 4.5 where they are shown',
    (text, behind) => {
      const low = behind.filter((surface) => contrast(scheme, text, surface) < 4.5);
      expect(low).toEqual([]);
    },
  );

  test.each([
    ['edge', 'surface'],
    ['edge', 'bg'],
    ['accent', 'surface'],
    ['accent', 'bg'],
  ])('of the signs of a control, --%s on --%s, have a contrast of 3', (sign, surface) => {
    expect(contrast(scheme, sign, surface)).toBeGreaterThanOrEqual(3);
  });
});
