/** What a value has to reach. */
export interface Target {
  /** As in "≥ 0.75". */
  text: string;
  met(value: number): boolean;
}

export function atLeast(bound: number, format: (value: number) => string): Target {
  return { text: `≥ ${format(bound)}`, met: (value) => value >= bound };
}

export function atMost(bound: number, format: (value: number) => string): Target {
  return { text: bound === 0 ? format(0) : `≤ ${format(bound)}`, met: (value) => value <= bound };
}
