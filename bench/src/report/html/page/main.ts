import type { ChartData } from "../chart-data.ts";
import { Chart } from "./chart.ts";
import { followTheme } from "./theme.ts";
import "./style.css";

const charts = [...document.querySelectorAll<HTMLElement>(".charts-of-run")].flatMap(chartsOf);
followTheme(charts);

/** A report of several majors has several sections of charts, each with its data. */
function chartsOf(section: HTMLElement): Chart[] {
  const data = JSON.parse(section.querySelector(".chart-data")?.textContent ?? "") as ChartData;
  return [...section.querySelectorAll<HTMLElement>("figure.chart")].flatMap((figure) => {
    const group = data.groups[Number(figure.dataset["group"])];
    const measure = data.measures.find(({ name }) => name === figure.dataset["measure"]);
    return group === undefined || measure === undefined ? [] : [new Chart(figure, data.systems, group, measure)];
  });
}
