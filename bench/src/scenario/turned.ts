/** The same in a circle from another one on: who comes first changes from repeat to repeat. */
export function turned<T>(all: T[], by: number): T[] {
  const first = all.length === 0 ? 0 : by % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}
