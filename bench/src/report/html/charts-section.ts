import { dashOf, lineOf, type ChartData, type ChartGroup, type Measure } from "./chart-data.ts";
import { html, jsonElement, type Html } from "./escape.ts";

/** The table that has a chart's figures, by the name of their column. */
type FindTable = (head: string) => { id: string; caption: string } | null;

/**
 * A figure for each measure of each group, which the page's script draws into, and what it draws.
 *
 * @param id of the section's own: a report has one for each major
 */
export function chartsSection(id: string, data: ChartData, findTable: FindTable): Html {
  const repeats = [...new Set(data.groups.flatMap(({ trials }) => trials.map(({ repeat }) => repeat)))].sort(
    (a, b) => a - b,
  );
  return html`<section class="charts-of-run" id="${id}">
    <p>
      One line for each trial: colours are systems${repeats.length > 1 ? ", strokes are repeats" : ""}. ${data.about}
    </p>
    ${repeats.length > 1 ? repeatsKey(repeats) : ""}
    <noscript><p>The charts need JavaScript. What they show is in samples.csv.</p></noscript>
    ${data.groups.map((group, index) => groupSection(id, data.measures, { group, index }, findTable))}
    ${jsonElement("chart-data", data)}
  </section> `;
}

function repeatsKey(repeats: number[]): Html {
  const sample = (repeat: number): Html =>
    html`<li>
      <svg class="stroke" width="40" height="10" aria-hidden="true">
        <line x1="0" y1="5" x2="40" y2="5" stroke-dasharray="${dashOf(repeat).join(" ")}"></line>
      </svg>
      repeat ${repeat}
    </li>`;
  return html`<ul class="repeats">
    ${repeats.map(sample)}
  </ul>`;
}

function groupSection(
  id: string,
  measures: Measure[],
  { group, index }: { group: ChartGroup; index: number },
  findTable: FindTable,
): Html {
  const { title, trials, notes } = group;
  const sampled = measures.filter((measure) =>
    trials.some((trial) => lineOf(trial, measure).some((value) => value !== null)),
  );
  const missing = trials.length === 0 ? [] : measures.filter((measure) => !sampled.includes(measure));
  return html`<section class="group" aria-labelledby="${id}-group-${index}">
    <h3 id="${id}-group-${index}">${title.slice(0, 1).toUpperCase()}${title.slice(1)}</h3>
    ${
      notes.length === 0
        ? ""
        : html`<ul class="notes">
            ${notes.map((note) => html`<li>${note}</li>`)}
          </ul>`
    }
    <div class="charts">${sampled.map((measure) => figure(group, index, measure, findTable(measure.figures)))}</div>
    ${missing.length === 0 ? "" : html`<p>Not sampled in this run: ${missing.map(({ title }) => title.slice(0, 1).toLowerCase() + title.slice(1)).join("; ")}.</p>`}
  </section> `;
}

function figure(group: ChartGroup, index: number, measure: Measure, table: ReturnType<FindTable>): Html {
  const systems = [...new Set(group.trials.map(({ system }) => system))].join(", ");
  const where = table === null ? "" : ` The figures are in the table “${table.caption}”, column “${measure.figures}”.`;
  const alternative = `${measure.title} over time, ${group.title}: lines of ${systems}.${where}`;
  return html`<figure class="chart" data-group="${index}" data-measure="${measure.name}">
    <figcaption><h4>${measure.title}</h4></figcaption>
    <div class="plot" role="img" aria-label="${alternative}"></div>
    ${table === null ? "" : html`<p class="figures"><a href="#${table.id}">Figures: ${measure.figures}</a></p>`}
  </figure> `;
}
