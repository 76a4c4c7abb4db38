import type { ChartData } from "../chart-data.ts";
import { chart, type Chart } from "./chart.ts";

import "./style.css";

/** Two charts beside each other on a landscape page. */
const printedWidth = 460;

const charts = [...document.querySelectorAll<HTMLElement>(".charts-of-run")].flatMap(chartsOf);
followTheme(charts);

/** A report of several majors has several sections of charts, each with its data. */
function chartsOf(section: HTMLElement): Chart[] {
  const data = JSON.parse(section.querySelector(".chart-data")?.textContent ?? "") as ChartData;
  return [...section.querySelectorAll<HTMLElement>("figure.chart")].flatMap((figure) => {
    const group = data.groups[Number(figure.dataset["group"])];
    const measure = data.measures.find(({ name }) => name === figure.dataset["measure"]);
    return group === undefined || measure === undefined ? [] : [chart(figure, data.systems, group, measure)];
  });
}

/** Charts are pictures: they are painted again when the colours of the page change, and on paper, which is always light. */
function followTheme(all: Chart[]): void {
  const paper = matchMedia("print");
  const follow = (printing: boolean): void => {
    document.documentElement.classList.toggle("printing", printing);
    for (const { fit, repaint } of all) {
      fit(printing ? printedWidth : undefined);
      repaint();
    }
  };
  addEventListener("beforeprint", () => follow(true));
  addEventListener("afterprint", () => follow(false));
  paper.addEventListener("change", ({ matches }) => follow(matches));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => follow(paper.matches));
}
