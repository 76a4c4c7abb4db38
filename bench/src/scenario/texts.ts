/** Nothing for the first. */
export const repeatText = (repeat: number): string => (repeat > 1 ? `, repeat ${repeat}` : "");

/** The figures of a cell in a few words, or why there are none. */
export function outcomeText<Figures>(
  { figures, notRun, error }: { figures: Figures | null; notRun: string | null; error: string | null },
  text: (figures: Figures) => string,
): string {
  if (figures !== null) return text(figures);
  return notRun === null ? `error: ${error}` : `not run, because ${notRun}`;
}
