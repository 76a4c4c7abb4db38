import type { Chart } from "./chart.ts";

/** Two charts beside each other on a landscape page. */
const printedWidth = 460;

/** Charts are pictures: they are painted again when the colours of the page change, and on paper, which is always light. */
export function followTheme(charts: Chart[]): void {
  const paper = matchMedia("print");
  const follow = (printing: boolean): void => {
    document.documentElement.classList.toggle("printing", printing);
    for (const chart of charts) {
      chart.fit(printing ? printedWidth : undefined);
      chart.repaint();
    }
  };
  addEventListener("beforeprint", () => follow(true));
  addEventListener("afterprint", () => follow(false));
  paper.addEventListener("change", ({ matches }) => follow(matches));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => follow(paper.matches));
}
