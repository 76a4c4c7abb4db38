/** As many as the style names; of more systems than that some share a colour. */
const seriesPaints = 10;

export const seriesPaint = (system: number): string => `--series-${system % seriesPaints}`;

/** A colour of the style, as it is now: dark, light, or on paper. */
export const paint = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name);
